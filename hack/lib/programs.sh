# SPDX-License-Identifier: Apache-2.0
# For scripts that build programs which hack/tools pins: how they are built, and that they are built once and kept by version.

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/cobaltcore"
export GOWORK=off CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false -mod=readonly"

say() { echo "${0##*/}: $*" >&2; }

# version MODULE PACKAGE prints what hack/tools/MODULE pins.
version() { go -C "$tools/$1" list -m -f '{{.Version}}' "$2"; }

# build MODULE OUT LDFLAGS [FLAG...] -- PACKAGE...
build() {
  local module=$1 out=$2 ldflags=$3 flags=()
  shift 3
  while [[ $1 != -- ]]; do flags+=("$1") && shift; done
  shift
  (
    cd "$tools/$module"
    say "building $module: $(go list "${flags[@]}" -deps "$@" | wc -l) packages, minutes on two cores when nothing is cached"
    "$tools/../compile" "${0##*/}: $module" "${flags[@]}" -ldflags "-s -w $ldflags" -o "$out" "$@"
  )
}

# once FOLDER COMMAND...: the command fills the folder, unless that was done before. Two callers share one run.
once() {
  local home=$1 started=$SECONDS
  shift
  [[ ! -e $home/complete ]] || return 0
  mkdir -p "$home"
  exec 9>"$home/lock"
  flock -n 9 || { say "waiting for another build of ${home##*/}"; flock 9; }
  if [[ ! -e $home/complete ]]; then
    "$@"
    touch "$home/complete"
    say "built ${home##*/} in $((SECONDS - started)) s"
  fi
  exec 9>&-
}
