#!/bin/sh
# Runs a script in the environment that environment.sh has made: in_environment.sh FOLDER SCRIPT ARGUMENT...
set -eu
folder=$1
shift
if [ ! -x "$folder/bin/python" ] || [ ! -f "$folder/requirements.txt" ]; then
    echo "skipped: no Python environment with onnx and onnxruntime"
    exit 77
fi
exec "$folder/bin/python" "$@"
