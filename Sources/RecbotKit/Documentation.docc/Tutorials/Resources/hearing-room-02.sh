# A room server, in a terminal of its own.
recbot room-server

# Ann and Ben, in another one.
recbot people my-room --participants 2 --duration 10m --url ws://127.0.0.1:7880
