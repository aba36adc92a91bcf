"""The command line: each command parses its arguments, calls one function, and renders the result.  May import everything."""
