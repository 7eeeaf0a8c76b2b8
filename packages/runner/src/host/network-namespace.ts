import { closeSync, fstatSync, openSync, statSync } from "node:fs";
import { constants } from "node:os";
import koffi from "koffi";
import { SystemCallError } from "./syscalls.ts";

// TCP sockets inside the network namespaces of containers. An ordinary user's process can enter such a namespace, but
// cannot return to the machine's. A thread of Node's pool therefore enters it. A socket belongs to the namespace of the
// thread that created it. So this thread creates the socket, and the main thread connects it.

const libc = koffi.load(null);
const setnsFn = libc.func("int setns(int fd, int type)");
const socketFn = libc.func("int socket(int domain, int type, int protocol)");
const connectFn = libc.func("int connect(int fd, const void *address, unsigned int size)");
const ioctlFn = libc.func("int ioctl(int fd, unsigned long request, void *argument)");

const CLONE_NEWNET = 0x40000000;
const AF_INET = 2;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const STREAM = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
/** Returns a descriptor of a socket's network namespace. */
const SIOCGSKNS = 0x894c;

const { EALREADY, EINPROGRESS, EISCONN } = constants.errno;

/** Errors of a container whose loopback interface is not up, or on whose port nothing listens yet. */
const NOT_LISTENING: ReadonlySet<number> = new Set([
  constants.errno.ECONNREFUSED,
  constants.errno.ECONNRESET,
  constants.errno.ENETUNREACH,
  constants.errno.EADDRNOTAVAIL,
]);

/** Concurrent creations of sockets would change the namespace of the thread while it is in use. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * Creates a TCP socket in the network namespace of a process.
 *
 * @returns its descriptor; undefined if the process does not have its own namespace yet
 * @throws an error if the process is gone, or the namespace cannot be entered
 */
export async function socketInside(pid: number): Promise<number | undefined> {
  const made = turn.then(async () => await makeInside(pid));
  turn = made.catch(() => undefined);
  return await made;
}

/** Creates a TCP socket in the network namespace of this process. */
export function socketHere(): number {
  const fd = socketFn(AF_INET, STREAM, 0) as number;
  if (fd < 0) throw new SystemCallError("socket", koffi.errno());
  return fd;
}

/**
 * Connects a socket to a port of the loopback interface.
 *
 * @returns false if nothing listens on the port yet; call it again with the same socket
 */
export function tryConnect(fd: number, port: number): boolean {
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(port, 2);
  address.set([127, 0, 0, 1], 4);
  // The first call starts the connection, and the second call reports the result: packets of the loopback interface do
  // not wait.
  for (const _ of ["start", "report"]) {
    if ((connectFn(fd, address, address.length) as number) === 0) return true;
    const errno = koffi.errno();
    if (errno === EISCONN) return true;
    if (NOT_LISTENING.has(errno)) return false;
    if (errno !== EINPROGRESS && errno !== EALREADY) throw new SystemCallError("connect", errno);
  }
  return false;
}

async function makeInside(pid: number): Promise<number | undefined> {
  const namespace = openSync(`/proc/${pid}/ns/net`, "r");
  try {
    const wanted = fstatSync(namespace).ino;
    // Until the OCI runtime has created the container's namespace, the process is in the machine's namespace.
    if (wanted === statSync("/proc/self/ns/net").ino) return undefined;
    if ((await onPoolThread(setnsFn, namespace, CLONE_NEWNET)) !== 0)
      throw new Error("the network namespace of the container cannot be entered (setns)");
    const fd = await onPoolThread(socketFn, AF_INET, STREAM, 0);
    if (fd < 0) throw new Error("no socket can be made in the network namespace of the container");
    try {
      checkNamespace(fd, wanted);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  } finally {
    closeSync(namespace);
  }
}

// A socket of another namespace could reach a program of this machine. The pool has one thread (see sandbox-host.ts in
// `sandbox`), but nothing else ensures that the calls use the same thread.
function checkNamespace(fd: number, wanted: number): void {
  const namespace = ioctlFn(fd, SIOCGSKNS, null) as number;
  if (namespace < 0) throw new SystemCallError("ioctl(SIOCGSKNS)", koffi.errno());
  try {
    if (fstatSync(namespace).ino !== wanted) throw new Error("a socket was made in another network namespace");
  } finally {
    closeSync(namespace);
  }
}

function onPoolThread(call: ReturnType<typeof libc.func>, ...values: number[]): Promise<number> {
  return new Promise((resolve, reject) => {
    call.async(...values, (error: Error | null, result: number) => (error ? reject(error) : resolve(result)));
  });
}
