#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the MariaDB server with the given arguments, and makes its system tables first where there are none. Any other command
# runs as it is. mariadb-operator sets MARIADB_ROOT_PASSWORD or MARIADB_ALLOW_EMPTY_ROOT_PASSWORD, and MARIADB_ROOT_HOST.
set -euo pipefail

data=/var/lib/mysql
work=$data/.initialising

say() { echo "entrypoint: $*" >&2; }

# quote TEXT prints a literal of SQL, on one line: that is what the server reads as one statement while it has no tables.
quote() {
  local text=${1//\\/\\\\}
  text=${text//\'/\\\'}
  printf "'%s'" "${text//$'\n'/\\n}"
}

# Help texts, the sys schema and the names of time zones are left out: they take longer than everything else.
statements() {
  local host=${MARIADB_ROOT_HOST:-%} password
  password=$(quote "${MARIADB_ROOT_PASSWORD:-}")
  printf '%s;\n' 'CREATE DATABASE mysql' 'USE mysql' 'SET @auth_root_socket = NULL'
  cat /usr/share/mariadb/mariadb_{system_tables,performance_tables,system_tables_data}.sql
  # They hold accounts without a password for the name and addresses of this host.
  printf '%s;\n' "DELETE FROM global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost')" \
    "DELETE FROM proxies_priv WHERE Host <> 'localhost'" 'FLUSH PRIVILEGES' "ALTER USER root@localhost IDENTIFIED BY $password"
  [[ $host == localhost ]] ||
    printf '%s;\n' "CREATE USER root@$(quote "$host") IDENTIFIED BY $password" \
      "GRANT ALL ON *.* TO root@$(quote "$host") WITH GRANT OPTION"
}

initialise() {
  local started=$SECONDS
  [[ -n ${MARIADB_ROOT_PASSWORD:-}${MARIADB_ALLOW_EMPTY_ROOT_PASSWORD:-} ]] ||
    { say "MARIADB_ROOT_PASSWORD is not set"; exit 1; }
  rm -rf "$work" "$data/performance_schema"
  mkdir "$work"
  # Nothing has to survive a crash before the tables are in place.
  statements | mariadbd --no-defaults --bootstrap --datadir="$work" --tmpdir="$work" --log-warnings=0 --performance-schema=OFF \
    --innodb-log-file-size=16M --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync 2>"$work.log" ||
    { cat "$work.log" >&2; exit 1; }
  # The system tables move last: who finds them may rely on everything else.
  find "$work" -mindepth 1 -maxdepth 1 ! -name mysql -exec mv -t "$data" {} +
  sync -f "$data"
  mv "$work/mysql" "$data"
  rm -rf "$work" "$work.log"
  say "made the system tables in $((SECONDS - started)) s"
}

case "${1:-}" in
'' | -*) ;;
mariadbd | mysqld) shift ;;
*) exec "$@" ;;
esac
[[ -d $data/mysql ]] || initialise
exec mariadbd "$@"
