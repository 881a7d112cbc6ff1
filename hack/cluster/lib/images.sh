# SPDX-License-Identifier: Apache-2.0
# Images of the node.

images_in() { in_box ctr --namespace k8s.io images "$@"; }

# wanted ARCHIVE prints "reference digest" for each image that the archive names.
wanted() {
  tar -xOf "$1" index.json 2>/dev/null |
    jq -r '.manifests[] | [.annotations["io.containerd.image.name"] // error("no name"), .digest] | join(" ")'
}

# present ARCHIVE: the node has all of its images, each with the very content. An archive that does not tell is not present.
present() {
  local wanted
  wanted=$(wanted "$1" 2>/dev/null) && [[ -n $wanted ]] || return 1
  [[ -z $(comm -23 <(sort <<<"$wanted") <(images_in list | awk '{ print $1, $3 }' | sort)) ]]
}

# load_archive ARCHIVE reads it here, since the box need not see its path.
load_archive() {
  local output
  present "$1" && { say "the node has ${1##*/} already"; return; }
  output=$(images_in import - <"$1" 2>&1) || { echo "$output" >&2; die "cannot load $1"; }
  say "loaded ${1##*/}"
}
