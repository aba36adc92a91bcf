"""Commands of servers and their clients: the board, the submission service, its runners and tokens."""
