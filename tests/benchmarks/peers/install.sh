#!/bin/sh
# Install the programs that the benchmarks compare with, as far as they can be had here.
#
#     sh tests/benchmarks/peers/install.sh
#
# Debian packages where apt-get may be used, Python packages into the virtual environment .venv beside this file.
# What cannot be installed is said, and fails in the results.

cd "$(dirname "$0")" || exit 1
python=${PYTHON:-python3}
"$python" -m venv .venv || exit 1

note() {  # name, reason
    echo "$1: $2" >&2
}

debian() {  # program, package
    command -v "$1" > /dev/null && return
    command -v apt-get > /dev/null || { note "$1" "no Debian here"; return; }
    [ -n "$updated" ] || { apt-get update > /dev/null 2>&1; updated=yes; }
    if ! apt-cache policy "$2" | grep 'Candidate: [0-9]' > /dev/null; then
        note "$1" "no Debian package"
    elif ! apt-get install -y --no-install-recommends "$2" > /dev/null 2>&1; then
        note "$1" "apt-get install failed"
    fi
}

pypi() {  # package
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: "$1" 2> /dev/null ||
        note "$1" "no wheel for this Python"
}

debian fasttext fasttext
pypi vowpalwabbit
exit 0
