# Makes demo.webm, 15 seconds of a conversation. Run it in the folder of the package.
recbot demo
