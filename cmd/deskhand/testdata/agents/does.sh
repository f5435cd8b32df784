# An agent that runs what its prompt says behind "do:", whatever stands before it.
eval "$(printf '%s\n' "$1" | sed -n '/^do:/,$p' | sed '1s/^do://')"
