# The room server, as before.
recbot room-server

# Ann and Ben, in another terminal.
recbot people my-room --participants 2 --duration 10m --url ws://127.0.0.1:7880

# The bot. Its token allows to publish.
export LIVEKIT_URL=ws://127.0.0.1:7880
export LIVEKIT_TOKEN=$(recbot token --room my-room --identity bot --publish)
swift run bot
