"""How well the tasks of a suite measure, and whether they may be ranked; imports scoring only."""
