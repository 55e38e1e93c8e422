# Records the room until Ctrl-C, in a terminal of its own.
recbot join my-room --url ws://127.0.0.1:7880 --api-key devkey --api-secret secret --output bot.webm
