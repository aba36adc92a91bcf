"""Epochs: private draws of a suite, what is disclosed of them, and families of submissions.  May import what `service` may."""
