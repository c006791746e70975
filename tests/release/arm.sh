#!/bin/sh
# Run nbtext with the kernel compiled for ARM, in the emulator qemu-user, and compare with nbtext of this machine.
#
#     sh tests/release/arm.sh PYTHON CROSS    # PYTHON has the tools of `make check`; CROSS has kernel.c and Python's headers
#
# Python for ARM is a package of Debian, so it has to be of the version that runs here.

set -eu
python=$1
cross=$2
arm=$PWD/build/arm
version=python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
rm -rf "$arm"
mkdir -p "$arm/apt/lists/partial" "$arm/apt/archives/partial" "$arm/here" "$arm/there"

# apt works in a folder of its own, as if nothing were installed, so that nothing changes on this machine
: >"$arm/apt/status"
apt_get() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
        -o Dir::State="$arm/apt" -o Dir::State::status="$arm/apt/status" -o Dir::Cache="$arm/apt" "$@"
}
apt_get update
apt_get install --download-only --yes --no-install-recommends "$version-minimal" "lib$version-stdlib" libstdc++6
for package in "$arm"/apt/archives/*.deb; do
    dpkg --extract "$package" "$arm/root"
done

# libraries of the versions that run here
"$python" -m pip freeze | grep -E '^(click|hypothesis|joblib|numpy|pytest|rich|scipy|snowballstemmer)==' >"$arm/libraries.txt"
"$python" -m pip install --quiet --disable-pip-version-check --no-compile --only-binary=:all: --platform manylinux2014_aarch64 \
    --platform manylinux_2_28_aarch64 --target "$arm/libraries" -r "$arm/libraries.txt"

tar --create --file=- --exclude=__pycache__ nbtext tests corpora pyproject.toml | tar --extract --file=- --directory="$arm"
flags=$("$python" -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["tool"]["setuptools"]["ext-modules"][0]["extra-compile-args"])')
"$python" -m ziglang cc -target aarch64-linux-gnu -shared -fPIC $flags -I "$cross/include" "$cross/kernel.c" -o "$arm/nbtext/_kernel.so"

cd "$arm"
export NBTEXT_KERNEL=require
here() {
    "$python" "$@"
}
there() {
    PYTHONPATH=libraries qemu-aarch64 -L root "root/usr/bin/$version" "$@"
}

# NumPy's einsum does not round a product before it is added where the processor can add it at once, as on ARM, so that
# last digits of a calibration differ. With rounded products, models have the same bytes.
rounded='import sys, numpy, nbtext.__main__
einsum = numpy.einsum
numpy.einsum = lambda *terms: numpy.asarray(einsum(*terms, dtype=object), dtype=float)
sys.exit(nbtext.__main__.main())'
there -m nbtext --version | grep "kernel: compiled"
for machine in here there; do
    for model in complement nbsvm; do
        $machine -c "$rounded" train corpora/letters/train -q --model $model -o $machine/$model.joblib
    done
    $machine -m nbtext train corpora/letters/train -q -o $machine/letters.joblib
    $machine -m nbtext evaluate corpora/letters/test -m $machine/letters.joblib --to table >$machine/evaluation.txt
    $machine -m nbtext predict corpora/letters/test -q -m $machine/letters.joblib --to jsonl -o $machine/predictions.jsonl
done
for file in complement.joblib nbsvm.joblib evaluation.txt predictions.jsonl; do
    cmp here/$file there/$file
done
there -m pytest -q --sample tests/test_numerics.py tests/features/test_kernel.py tests/features/test_kernel_misuse.py
