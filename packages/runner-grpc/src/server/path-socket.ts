import { chmod, lstat, mkdtemp, rename, rm, rmdir, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { messageOf } from "@xfn/errors";
import { parseEndpoint } from "../setup/endpoint.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";

/** The file of a listening socket. */
export interface SocketFile {
  /** Removes the file, unless another process has replaced it. */
  remove(): Promise<void>;
}

/**
 * Listens on a socket that only its owner can open (mode 0600), from its first moment. The socket is bound in a
 * private directory, gets its mode there, and is then moved to its path. Replaces the file of a process that was
 * killed.
 *
 * @param listen binds a gRPC target
 * @throws RunnerSetupError `AddressInUse`, `ListenFailed`
 */
export async function listenOnPath(path: string, listen: (target: string) => Promise<unknown>): Promise<SocketFile> {
  await checkFree(path);
  let folder: string;
  try {
    // In the same directory, so on the same file system. mkdtemp makes it 0700.
    folder = await mkdtemp(join(dirname(path), ".xfn"));
  } catch (cause) {
    const why = messageOf(cause);
    throw new RunnerSetupError("ListenFailed", `cannot make a socket in ${dirname(path)}: ${why}`, { cause });
  }
  try {
    const temporary = join(folder, "s");
    await listen(parseEndpoint(`unix:${temporary}`).target);
    await chmod(temporary, 0o600);
    const { ino, dev } = await lstat(temporary);
    await rename(temporary, path);
    return {
      remove: async () => {
        const there = await lstat(path).catch(() => undefined);
        if (there?.ino === ino && there.dev === dev) await unlink(path).catch(() => undefined);
      },
    };
  } catch (cause) {
    if (cause instanceof RunnerSetupError) throw cause;
    const why = messageOf(cause);
    throw new RunnerSetupError("ListenFailed", `cannot make the socket ${path}: ${why}`, { cause });
  } finally {
    await rmdir(folder).catch(() => rm(folder, { recursive: true, force: true }));
  }
}

async function checkFree(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there === undefined) return;
  if (!there.isSocket()) {
    throw new RunnerSetupError("ListenFailed", `${path} exists and is not a socket: remove it, or choose another path`);
  }
  if (await answers(path)) {
    throw new RunnerSetupError(
      "AddressInUse",
      `another process listens on ${path} already: stop it, or choose another path`,
    );
  }
}

// The socket of a dead process refuses connections. Any other result, such as a full backlog, comes from a live
// process.
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code !== "ECONNREFUSED" && error.code !== "ENOENT"),
    );
  });
}
