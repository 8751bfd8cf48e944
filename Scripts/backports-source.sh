# Sourced by Scripts/setup and Scripts/private-sqlcipher.
#
# Debian 12 itself has SQLCipher 3.4.1; 4.x is in its backports, which are not
# among a fresh system's apt sources.

backports=bookworm-backports

is_debian_12() {
    [[ $(. /etc/os-release && echo "${VERSION_CODENAME:-}") == bookworm ]]
}

# Prints the apt source of the backports: the machine's own entry for the main
# archive with another suite, so that its mirror, proxy and keyring stay in use.
backports_source() {
    local file
    # Debian's own files first: other vendors also call their suite "bookworm".
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/{debian.sources,*.sources,*.list}; do
        [[ ! -f $file ]] || as_deb822 "$file"
    done | awk -v backports="$backports" '
        function has(field, word) { return (" " value[field] " ") ~ "[ \t\n]" word "[ \t\n]" }
        function end_of_entry() {
            if (!found && has("types", "deb") && has("suites", "bookworm") && has("components", "main") &&
                tolower(value["enabled"]) != "no" && value["uris"] !~ /^cdrom:/) {
                found = 1
                print "Types: deb\nURIs: " value["uris"] "\nSuites: " backports "\nComponents: main"
                # A path, fingerprints, or a whole key over several lines.
                if (value["signed-by"] != "") print "Signed-By: " value["signed-by"]
            }
            split("", value)
        }
        /^#/ { next }
        /^[ \t]*$/ { end_of_entry(); next }
        /^[ \t]/ { value[name] = value[name] "\n" $0; next }
        {
            name = tolower($0)
            sub(/[ \t]*:.*/, "", name)
            sub(/^[^:]*:[ \t]*/, "")
            value[name] = $0
        }
        END { end_of_entry(); exit !found }'
}

# Prints the entries of a .sources file, or of an old one-line .list file, in the
# format of the former, with a blank line after each.
as_deb822() {
    if [[ $1 == *.sources ]]; then
        cat "$1"
        echo
    else
        awk '/^[ \t]*deb[ \t]/ {
            sub(/#.*/, "")
            signed_by = ""
            if (match($0, /^[ \t]*deb[ \t]+\[[^]]*\]/)) {
                options = substr($0, RSTART, RLENGTH - 1)
                $0 = "deb " substr($0, RSTART + RLENGTH)
                if (match(options, /signed-by=[^ \t]+/)) signed_by = substr(options, RSTART + 10, RLENGTH - 10)
            }
            print "Types: deb\nURIs: " $2 "\nSuites: " $3
            $1 = $2 = $3 = ""
            print "Components: " $0
            if (signed_by != "") print "Signed-By: " signed_by
            print ""
        }' "$1"
    fi
}

# Runs a command and shows what it printed only if it fails.
quietly() {
    local output
    output=$("$@" 2>&1 </dev/null) || {
        echo "$output" >&2
        return 1
    }
}
