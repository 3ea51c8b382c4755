#!/usr/bin/env bash
# complete_words.bash SCRIPT WORD...: what bash offers for the last word after sourcing the script.
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_cortado
echo "${COMPREPLY[@]}"
