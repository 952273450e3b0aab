#!/bin/sh
# Makes the Python environment of these tests: environment.sh FOLDER. Exit code 77 says that it cannot be had.
set -eu
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
if "$folder/bin/python" -c 'import onnx, onnxruntime' 2>/dev/null && cmp -s "$here/requirements.txt" "$folder/requirements.txt"; then
    exit 0
fi
python3 -m venv --clear "$folder" &&
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" &&
    cp "$here/requirements.txt" "$folder/" && exit 0
echo "skipped: onnx and onnxruntime cannot be installed from PyPI" >&2
exit 77
