# A room server, in a terminal of its own.
recbot room-server
