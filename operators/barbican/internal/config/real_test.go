// SPDX-License-Identifier: Apache-2.0

//go:build realbarbican

// The golden configurations in the hands of the real Barbican. hack/test-barbican runs these tests and says where the root
// file systems are: REAL_BARBICAN="2025.1=FOLDER 2026.2=FOLDER", REAL_MARIADB=FOLDER.
package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/common/workload"
)

// awkward is a credential with everything in it that an environment, a URL or oslo.config could trip over.
const awkward = `p$queue.enable ${x} \$ \\$ $$ %40 @:/?#[]&=+ "'ü密`

// awkwardASCII is the same for the database: PyMySQL sends passwords in Latin-1, so others than ASCII never match.
const awkwardASCII = `p$queue.enable ${x} \$ \\$ $$ %40 @:/?#[]&=+ "'`

// hosts maps a packaged release to those whose configuration it can load.
var hosts = map[string][]string{"2025.1": {"2025.1", "2025.2"}, "2026.2": {"2026.1", "2026.2"}}

//nolint:paralleltest // the database must outlive everything, and the parts of a configuration follow each other
func TestReal(t *testing.T) {
	server := startMariaDB(t, os.Getenv("REAL_MARIADB"))
	for assignment := range strings.FieldsSeq(os.Getenv("REAL_BARBICAN")) {
		packaged, root, _ := strings.Cut(assignment, "=")
		for _, name := range slices.Sorted(maps.Keys(configurations)) {
			for _, release := range hosts[packaged] {
				service := barbican{root: root, folder: filepath.Join("testdata", name, release)}
				if release != packaged && sameFiles(t, service.folder, filepath.Join("testdata", name, packaged)) {
					continue
				}
				t.Run(packaged+"/loads "+name+" of "+release, func(t *testing.T) {
					t.Parallel()
					service.database = server.create(t)
					t.Run("environment wins", service.environmentWins)
					t.Run("nothing secret", service.nothingSecret)
					t.Run("db upgrade", service.migrates)
					t.Run("secret stores", service.prepares)
					t.Run("serves", service.serves)
				})
			}
		}
		service := barbican{root: root, folder: filepath.Join("testdata", "minimal", packaged)}
		t.Run(packaged+"/checks certificates", func(t *testing.T) {
			t.Parallel()
			checksCertificates(t, root, server)
		})
		t.Run(packaged+"/starts two workers", func(t *testing.T) {
			t.Parallel()
			startsTwo(t, service, server)
		})
		t.Run(packaged+"/reads literals", barbican{root: root, folder: filepath.Join("testdata", "literals", packaged)}.readsLiterals)
		t.Run(packaged+"/ships the same paste file", service.shipsTheSamePasteFile)
		t.Run(packaged+"/refuses an empty DSN", service.refusesEmptyDSN)
		t.Run(packaged+"/does not fall back to SQLite", service.doesNotFallBack)
	}
}

// barbican is a packaged release with a configuration and a database.
type barbican struct {
	root     string
	folder   string
	database oslo.DSN
}

func (b barbican) environment() []string {
	return []string{
		"PATH=/usr/sbin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C.UTF-8",
		// PyMySQL asks for the name of the user and fails when he has none. In the image of the service he has.
		"USER=openstack",
		"OS_DATABASE__CONNECTION=" + b.database.String(),
		"OS_KEYSTONE_AUTHTOKEN__PASSWORD=" + oslo.Escape(awkward),
		"OS_VAULT_PLUGIN__APPROLE_SECRET_ID=" + StoreLiteral(awkward),
	}
}

func (b barbican) migrates(t *testing.T) {
	if out, err := b.command(t, b.environment(), "barbican-manage", "db", "upgrade").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// prepares runs what goes ahead of the API, the second time with nothing to do.
func (b barbican) prepares(t *testing.T) {
	for range 2 {
		if out, err := b.command(t, b.environment(), "barbican-manage", "db", "sync_secret_stores").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// startsTwo shows what the preparation is for: of two that start on a fresh database, one fails.
func startsTwo(t *testing.T, service barbican, server *mariadb) {
	t.Helper()
	script, err := os.ReadFile("../../../../tests/barbican/start_two.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		prepared bool
		started  string
	}{{false, "1"}, {true, "2"}} {
		service.database = server.create(t)
		service.migrates(t)
		if tt.prepared {
			service.prepares(t)
		}
		starters := service.command(t, service.environment(), "python3", "-c", string(script))
		var said bytes.Buffer
		starters.Stderr = &said
		out, err := starters.Output()
		if diff := cmp.Diff(tt.started+"\n", string(out)); err != nil || diff != "" {
			t.Errorf("prepared %t: %v, started (-want +got):\n%s\n%s", tt.prepared, err, diff, said.String())
		}
	}
}

func (b barbican) serves(t *testing.T) {
	port := strconv.Itoa(freePort(t))
	log := newLog(t)
	argv := workload.UWSGI{
		Bind: "127.0.0.1:" + port, Module: "barbican.api.app:get_api_wsgi_script()",
		Knobs: api.UWSGISpec{Processes: 1, Threads: 1, HTTPKeepAlive: new(true)},
	}.Command()
	// Debian packages as plugins what an image has built in.
	argv = slices.Insert(argv, 1, "--plugins", "http,python3")
	server := b.command(t, b.environment(), argv...)
	server.Stdout, server.Stderr = log.File, log.File
	ended := start(t, server)
	base := "http://127.0.0.1:" + port
	if err := eventually(ended, func() error { return answers(base+"/healthcheck", http.StatusOK) }); err != nil {
		t.Fatalf("%v\n%s", err, log.text())
	}
	for path, code := range map[string]int{"/": http.StatusMultipleChoices, "/v1": http.StatusUnauthorized, "/v1/secrets": http.StatusUnauthorized} {
		if err := answers(base+path, code); err != nil {
			t.Error(err)
		}
	}
	if strings.Contains(b.folder, "full") && !strings.Contains(log.text(), `{"message": `) {
		t.Errorf("the log is not in the format asked for\n%s", log.text())
	}
	stopping := time.Now()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ended
	if took := time.Since(stopping); took > 20*time.Second {
		t.Errorf("stopping took %s", took)
	}
}

func (b barbican) environmentWins(t *testing.T) {
	b.reads(t, map[string]string{
		"database.connection":            b.database.String(),
		"keystone_authtoken.password":    awkward,
		"vault_plugin.approle_secret_id": awkward,
	})
}

func (b barbican) readsLiterals(t *testing.T) {
	text, err := os.ReadFile("../../../../tests/barbican/literals.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	b.reads(t, want)
}

func (b barbican) shipsTheSamePasteFile(t *testing.T) {
	const compare = `import configparser, sys
def read(path):
    parser = configparser.RawConfigParser()
    parser.optionxform = str
    assert parser.read(path), path
    return {section: dict(parser[section]) for section in parser.sections()}
ours, shipped = (read(path) for path in sys.argv[1:])
for section in sorted(ours.keys() | shipped.keys()):
    assert ours.get(section) == shipped.get(section), (section, ours.get(section), shipped.get(section))`
	out, err := b.command(t, b.environment(), "python3", "-c", compare,
		Directory+"/"+PasteFile, "/usr/share/barbican-common/"+PasteFile).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func (b barbican) reads(t *testing.T, want map[string]string) {
	t.Helper()
	script, err := os.ReadFile("../../../../tests/barbican/read.py")
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(want))
	out, err := b.command(t, b.environment(), append([]string{"python3", "-c", string(script)}, names...)...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr(err))
	}
	var got map[string]string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func (b barbican) nothingSecret(t *testing.T) {
	for _, name := range readFolder(t, b.folder) {
		text, err := os.ReadFile(filepath.Join(b.folder, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{awkward, oslo.Escape(awkward), StoreLiteral(awkward), b.database.Password, b.database.String(), "approle_secret_id", "root_token_id"} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
	}
}

func (b barbican) refusesEmptyDSN(t *testing.T) {
	t.Parallel()
	environment := append(b.environment(), "OS_DATABASE__CONNECTION=")
	b.fails(t, environment, "Please specify a SQLAlchemy-friendly URL", "barbican-manage", "db", "upgrade")
}

// doesNotFallBack runs without the variable. The placeholder reaches nothing, and the command would go on trying for long.
func (b barbican) doesNotFallBack(t *testing.T) {
	t.Parallel()
	environment := slices.DeleteFunc(b.environment(), func(v string) bool { return strings.HasPrefix(v, "OS_DATABASE__CONNECTION=") })
	b.fails(t, environment, "database.invalid", "timeout", "40", "barbican-manage", "db", "upgrade")
}

func (b barbican) fails(t *testing.T, environment []string, message string, argv ...string) {
	t.Helper()
	out, err := b.command(t, environment, argv...).CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited || !bytes.Contains(out, []byte(message)) {
		t.Errorf("%v ended with %v and without %q\n%s", argv, err, message, out)
	}
}

// checksCertificates connects with each grade of protection to a server whose certificate is for localhost only.
func checksCertificates(t *testing.T, root string, server *mariadb) {
	t.Helper()
	const connect = `import json, os, sqlalchemy
def connects(dsn):
    try:
        return sqlalchemy.create_engine(dsn).connect() is not None
    except sqlalchemy.exc.OperationalError as error:
        assert "CERTIFICATE_VERIFY_FAILED" in str(error), error
        return False
print(json.dumps([connects(dsn) for dsn in os.environ["DSNS"].split()]))`
	client := barbican{root: root, folder: t.TempDir()}
	server.authority.issue(t, filepath.Join(client.folder, "right"), "client")
	newAuthority(t).issue(t, filepath.Join(client.folder, "wrong"), "client")

	var want, got []bool
	var dsns []string
	dsn := server.create(t)
	for _, tt := range []struct {
		verify    oslo.Verification
		authority string
		host      string
		connects  bool
	}{
		{oslo.VerifyDefault, "right", "localhost", true},
		{oslo.VerifyDefault, "wrong", "localhost", false},
		{oslo.VerifyCA, "right", "127.0.0.1", true},
		{oslo.VerifyCA, "wrong", "127.0.0.1", false},
		{oslo.VerifyFull, "right", "localhost", true},
		{oslo.VerifyFull, "right", "127.0.0.1", false},
		{oslo.VerifyFull, "wrong", "localhost", false},
	} {
		files := Directory + "/" + tt.authority
		dsn.Host = tt.host
		dsn.Query = oslo.TLSQuery(files+"/ca.crt", files+"/tls.crt", files+"/tls.key", tt.verify)
		dsns, want = append(dsns, dsn.String()), append(want, tt.connects)
	}
	out, err := client.command(t, append(client.environment(), "DSNS="+strings.Join(dsns, " ")), "python3", "-c", connect).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr(err))
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// command runs a program as a pod does: an arbitrary user on a read-only root, the configuration mounted read-only.
func (b barbican) command(t *testing.T, environment []string, argv ...string) *exec.Cmd {
	t.Helper()
	folder, err := filepath.Abs(b.folder)
	if err != nil {
		t.Fatal(err)
	}
	const enter = `set -eu
root=$1 config=$2; shift 2
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --bind "$config" "$root/etc/barbican"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
cd "$root/tmp"
exec chroot --userspec=42424:42424 "$root" "$@"`
	command := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "sh", "-c", enter, "sh", b.root, folder}, argv...)...)
	command.Env = environment
	return command
}

// mariadb is a database server on loopback.
type mariadb struct {
	root, folder string
	port         int
	authority    authority
}

func startMariaDB(t *testing.T, root string) *mariadb {
	t.Helper()
	m := &mariadb{root: root, folder: t.TempDir(), port: freePort(t), authority: newAuthority(t)}
	m.authority.issue(t, m.folder, "localhost")
	if err := os.Chmod(m.folder, 0o777); err != nil {
		t.Fatal(err)
	}
	install := m.command("mariadb-install-db", "--no-defaults", "--user=mysql", "--datadir=/mnt/data",
		"--auth-root-authentication-method=normal", "--skip-test-db", "--force")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("making a data folder: %v\n%s", err, out)
	}
	log := newLog(t)
	server := m.command("mariadbd", "--no-defaults", "--user=mysql", "--datadir=/mnt/data", "--bind-address=127.0.0.1",
		"--ssl-ca=/mnt/ca.crt", "--ssl-cert=/mnt/tls.crt", "--ssl-key=/mnt/tls.key", "--port="+strconv.Itoa(m.port), "--socket=/mnt/socket", "--pid-file=/mnt/pid", "--innodb-flush-log-at-trx-commit=0",
		"--performance-schema=OFF", "--skip-name-resolve", "--max-connections=500")
	server.Stdout, server.Stderr = log.File, log.File
	ended := start(t, server)
	ping := func() error { return m.command("mariadb-admin", "--socket=/mnt/socket", "ping").Run() }
	if err := eventually(ended, ping); err != nil {
		t.Fatalf("the database does not start: %v\n%s", err, log.text())
	}
	return m
}

// create makes a database whose owner has an awkward password.
func (m *mariadb) create(t *testing.T) oslo.DSN {
	t.Helper()
	name := "b" + strconv.FormatInt(time.Now().UnixNano(), 36)
	literal := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(awkwardASCII)
	client := m.command("mariadb", "--no-defaults", "--default-character-set=utf8mb4", "--socket=/mnt/socket", "-u", "root")
	client.Stdin = strings.NewReader(fmt.Sprintf("CREATE DATABASE %[1]s; CREATE USER %[1]s@'%%' IDENTIFIED BY '%[2]s'; GRANT ALL ON %[1]s.* TO %[1]s@'%%';", name, literal))
	if out, err := client.CombinedOutput(); err != nil {
		t.Fatalf("creating a database: %v\n%s", err, out)
	}
	return oslo.DSN{User: name, Password: awkwardASCII, Host: "127.0.0.1", Port: strconv.Itoa(m.port), Database: name}
}

func (m *mariadb) command(argv ...string) *exec.Cmd {
	const enter = `set -eu
root=$1 folder=$2; shift 2
mount --bind "$folder" "$root/mnt"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
exec chroot "$root" "$@"`
	command := exec.Command("unshare", append([]string{"--mount", "sh", "-c", enter, "sh", m.root, m.folder}, argv...)...)
	command.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"}
	return command
}

// start runs a server and stops it when the test ends; the channel closes when it is gone.
func start(t *testing.T, server *exec.Cmd) <-chan struct{} {
	t.Helper()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait()
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			_ = server.Process.Kill()
			<-ended
		}
	})
	return ended
}

// log collects what a server prints; it can be read meanwhile.
type log struct{ *os.File }

func newLog(t *testing.T) log {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return log{file}
}

func (l log) text() string {
	text, err := os.ReadFile(l.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// eventually repeats a check until it passes, its server has ended or four minutes are over.
func eventually(ended <-chan struct{}, check func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("the server ended")
		case <-ctx.Done():
			return err
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func answers(url string, code int) error {
	client := http.Client{Timeout: 20 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != code {
		return fmt.Errorf("%s answers %s instead of %d: %s", url, response.Status, code, body)
	}
	return nil
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func sameFiles(t *testing.T, a, b string) bool {
	t.Helper()
	if !slices.Equal(readFolder(t, a), readFolder(t, b)) {
		return false
	}
	return !slices.ContainsFunc(readFolder(t, a), func(name string) bool {
		x, errX := os.ReadFile(filepath.Join(a, name))
		y, errY := os.ReadFile(filepath.Join(b, name))
		return errX != nil || errY != nil || !bytes.Equal(x, y)
	})
}

func readFolder(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func stderr(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return ""
}
