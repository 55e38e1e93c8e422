# Plays a file.
aplay -f dat sound-1.pcm

# Makes a WAV of it.
ffmpeg -f s16le -ar 48000 -ac 2 -i sound-1.pcm sound-1.wav
