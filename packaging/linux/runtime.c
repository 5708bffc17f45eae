/* The head of an AppImage (type 2): mounts what is appended to it, or unpacks that, and runs its AppRun.
 *
 * It is linked statically with squashfuse and libfuse 3, so that it runs on any Linux. Where nothing can be mounted
 * (no /dev/fuse, no fusermount3), the program is unpacked into a folder of its own in TMPDIR, which is removed in the
 * end, also where a signal comes before that.
 * bundle.py compiles it and puts it before the packed folder.
 */
#define FUSE_USE_VERSION 32
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <squashfuse/ll.h>
#include <squashfuse/squashfuse.h>

sqfs_ll *sqfs_ll_open(const char *path, size_t offset);

/* squashfuse can read LZO, which is under the GPL: the folder is packed with zstd, and this is never called. */
int lzo1x_decompress_safe(void) { return -1; }

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 2;
}

/* The packed folder begins where this program ends. */
static size_t own_size(const char *path)
{
	Elf64_Ehdr head;
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? -1 : read(file, &head, sizeof head);
	if (file >= 0)
		close(file);
	return got == sizeof head ? head.e_shoff + (size_t)head.e_shentsize * head.e_shnum : 0;
}

/* -- signals -------------------------------------------------------------------------------------------------- */

static pid_t program;
static volatile sig_atomic_t ended; /* the signal that came before the program was started */

static void pass_on(int signal)
{
	if (program > 0)
		kill(program, signal);
	else
		ended = signal;
}

/* A signal that is ignored from the start, as by nohup, stays so: the program inherits that. */
static void on_signals(void (*how)(int))
{
	for (int at = 0; at < 3; at++) {
		int number = (int[]){SIGTERM, SIGINT, SIGHUP}[at];
		if (signal(number, SIG_IGN) != SIG_IGN)
			signal(number, how);
	}
}

/* -- unpacked ------------------------------------------------------------------------------------------------- */

static int write_file(sqfs *fs, sqfs_inode *inode, const char *path, mode_t mode)
{
	static char block[1 << 20];
	sqfs_off_t done = 0, whole = inode->xtra.reg.file_size;
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
	if (file < 0)
		return failed(path);
	while (done < whole && !ended) {
		sqfs_off_t part = sizeof block;
		if (sqfs_read_range(fs, inode, done, &part, block) || part <= 0 || write(file, block, part) != part) {
			close(file);
			return failed(path);
		}
		done += part;
	}
	return close(file) ? failed(path) : 0;
}

static int unpack_entry(sqfs *fs, sqfs_traverse *at, const char *folder)
{
	char path[PATH_MAX], target[PATH_MAX];
	size_t room = sizeof target;
	sqfs_inode inode;
	if (snprintf(path, sizeof path, "%s/%s", folder, at->path) >= (int)sizeof path)
		return failed(folder);
	if (sqfs_inode_get(fs, &inode, sqfs_dentry_inode(&at->entry)))
		return failed(path);
	if (S_ISDIR(inode.base.mode))
		return mkdir(path, 0755) ? failed(path) : 0;
	if (S_ISLNK(inode.base.mode))
		return sqfs_readlink(fs, &inode, target, &room) || symlink(target, path) ? failed(path) : 0;
	return S_ISREG(inode.base.mode) ? write_file(fs, &inode, path, inode.base.mode) : 0;
}

static int unpack(const char *self, size_t offset, const char *folder)
{
	sqfs fs;
	sqfs_traverse at;
	sqfs_err error = SQFS_OK;
	int status = 0;
	if (sqfs_open_image(&fs, self, offset) || sqfs_traverse_open(&at, &fs, sqfs_inode_root(&fs)))
		return 2;
	while (!status && !ended && sqfs_traverse_next(&at, &error))
		if (!at.dir_end)
			status = unpack_entry(&fs, &at, folder);
	sqfs_traverse_close(&at);
	sqfs_destroy(&fs);
	return ended ? 128 + ended : status ? status : error ? 2 : 0;
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *place)
{
	(void)found, (void)kind, (void)place;
	return remove(path);
}

/* -- mounted -------------------------------------------------------------------------------------------------- */

/* Serve the mounted folder; `ready` is told once it is there. */
static int serve(const char *self, size_t offset, const char *folder, int ready)
{
	struct fuse_lowlevel_ops calls = {
		.getattr = sqfs_ll_op_getattr, .opendir = sqfs_ll_op_opendir, .releasedir = sqfs_ll_op_releasedir,
		.readdir = sqfs_ll_op_readdir, .lookup = sqfs_ll_op_lookup, .open = sqfs_ll_op_open,
		.create = sqfs_ll_op_create, .release = sqfs_ll_op_release, .read = sqfs_ll_op_read,
		.readlink = sqfs_ll_op_readlink, .forget = sqfs_ll_op_forget, .statfs = stfs_ll_op_statfs,
	};
	char *words[] = {"AppImage", "-o", "ro,nosuid,nodev", NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, words);
	sqfs_ll_chan channel;
	sqfs_ll *ll = sqfs_ll_open(self, offset);
	int status = 2;
	if (!ll || sqfs_ll_mount(&channel, folder, &args, &calls, sizeof calls, ll))
		return status;
	if (fuse_set_signal_handlers(channel.session) == 0 && write(ready, "m", 1) == 1) {
		close(ready);
		status = fuse_session_loop(channel.session);
		fuse_remove_signal_handlers(channel.session);
	}
	sqfs_ll_unmount(&channel, folder);
	sqfs_ll_destroy(ll);
	return status;
}

/* Return the process that serves the folder; 0 where it cannot be mounted. */
static pid_t mounted(const char *self, size_t offset, const char *folder)
{
	int ready[2];
	char told = 0;
	pid_t server;
	if (access("/dev/fuse", R_OK | W_OK) || pipe2(ready, O_CLOEXEC) || (server = fork()) < 0)
		return 0;
	if (server == 0) {
		close(ready[0]);
		setpgid(0, 0); /* Ctrl+C is for the program: its files are needed until it has ended */
		on_signals(SIG_DFL);
		_exit(serve(self, offset, folder, ready[1]));
	}
	close(ready[1]);
	if (read(ready[0], &told, 1) != 1) {
		waitpid(server, NULL, 0);
		server = 0;
	}
	close(ready[0]);
	return server;
}

/* -- the program ---------------------------------------------------------------------------------------------- */

static int run(const char *self, const char *folder, char **words)
{
	char path[PATH_MAX];
	int status = 0;
	snprintf(path, sizeof path, "%s/AppRun", folder);
	setenv("APPIMAGE", self, 1);
	setenv("APPDIR", folder, 1);
	program = fork();
	if (program == 0) {
		on_signals(SIG_DFL);
		if (ended)
			_exit(128 + ended);
		execv(path, words);
		_exit(failed(path));
	}
	if (ended)
		kill(program, ended);
	while (waitpid(program, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **words)
{
	char self[PATH_MAX] = "", folder[PATH_MAX - 8], told[PATH_MAX], *room = getenv("TMPDIR");
	size_t offset;
	int status = 0;
	pid_t server = 0;
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || !(offset = own_size(self)))
		return failed("the AppImage cannot be read");
	if (count > 1 && !strcmp(words[1], "--appimage-offset"))
		return printf("%zu\n", offset) < 0;
	if (count > 1 && !strcmp(words[1], "--appimage-extract"))
		return mkdir("squashfs-root", 0755) ? failed("squashfs-root") : unpack(self, offset, "squashfs-root");
	snprintf(folder, sizeof folder, "%s/.mount_XXXXXX", room && *room ? room : "/tmp");
	on_signals(pass_on); /* from before there is anything to leave behind */
	if (!mkdtemp(folder))
		return failed(folder);
	if (!getenv("APPIMAGE_EXTRACT_AND_RUN"))
		server = mounted(self, offset, folder);
	if (!server)
		status = unpack(self, offset, folder);
	else if (ended)
		status = 128 + ended;
	if (!status)
		status = run(realpath(self, told) ? told : self, folder, words);
	else if (!ended)
		failed("the AppImage cannot be unpacked");
	if (server) {
		kill(server, SIGTERM);
		waitpid(server, NULL, 0);
		rmdir(folder);
	} else {
		nftw(folder, remove_one, 32, FTW_DEPTH | FTW_PHYS);
	}
	return status;
}
