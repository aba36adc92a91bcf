"""Code that runs inside the sandbox, loaded by path.  Imports the standard library and NumPy only."""
