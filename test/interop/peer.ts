import { type ChildProcessByStdio, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { CHECKOUT } from "../harness/paths.ts";

/** The address that a peer dials or listens on, in its own spelling, and its PEM files. */
export interface PeerOptions {
  address: string;
  ca?: string;
  cert?: string;
  key?: string;
}

/** A call of a peer's client. */
export interface Order {
  image?: string;
  input?: string;
  /** Generates an input of this size. */
  bytes?: number;
  timeoutMs?: number;
  token?: string;
  /** Sets every other field of the request. */
  settings?: boolean;
  /** Calls the server's health service instead. */
  health?: boolean;
  /** Requests the file that describes this symbol, as grpcurl does (Go only). */
  reflect?: string;
}

/** The outcome of a call. */
export interface Result {
  /** The gRPC status code. */
  code: number;
  text?: string;
  /** The google.rpc messages by name, as JSON. */
  details?: Record<string, unknown>[];
  /** The output, if it is short. */
  output?: string;
  bytes: number;
  /** Whether the output equals the input. */
  same: boolean;
}

/** A client in another process, with one connection. */
export interface PeerClient extends AsyncDisposable {
  run(order: Order): Promise<Result>;
  /** Starts a call that the peer cancels on request. */
  start(order: Order): { result: Promise<Result>; cancel(): void };
  /** Kills the process without closing the connection. */
  kill(): void;
}

/** A server in another process. */
export interface PeerServer extends AsyncDisposable {
  readonly address: string;
  /** Waits for the next report about a call of the image `wait`. */
  next(): Promise<Readonly<Record<string, string>>>;
  kill(): Promise<void>;
}

/** gRPC in another language, with code generated from the public contract. */
export interface Peer {
  call(options: PeerOptions): PeerClient;
  serve(options: PeerOptions): Promise<PeerServer>;
  [Symbol.dispose](): void;
}

const MODULE = "xfn.example/interop";
const CONTRACT = "apiextensions/fn/proto/v1alpha1/run_function.proto";
const GO_OPTIONS = [`module=${MODULE}`, `M${CONTRACT}=${MODULE}/fnv1alpha1`];

/** Builds the peer in Go. Plugins in the versions of go.mod generate its code from proto/, in a separate folder. */
export async function goPeer(): Promise<Peer & { writeCertificates(): string }> {
  const folder = mkdtempSync(join(tmpdir(), "xfn-interop-go-"));
  cpSync(join(CHECKOUT, "test/interop/go"), folder, { recursive: true });
  const plugin = (name: string): object => ({ local: ["go", "tool", name], out: folder, opt: GO_OPTIONS });
  const template = { version: "v2", plugins: [plugin("protoc-gen-go"), plugin("protoc-gen-go-grpc")] };
  const run = async (program: string, ...args: string[]): Promise<unknown> =>
    await promisify(execFile)(program, args, { cwd: folder, env: environment(folder) });
  const proto = join(CHECKOUT, "proto");
  await run(BUF, "generate", proto, "--path", join(proto, CONTRACT), "--template", JSON.stringify(template));
  await run("go", "build", "-o", "peer", ".");
  const program = join(folder, "peer");
  return {
    ...peerOf([program], folder),
    writeCertificates() {
      const certificates = join(folder, "certificates");
      mkdirSync(certificates, { recursive: true });
      spawnSync(program, ["certificates", certificates]);
      return certificates;
    },
  };
}

/** The peer in Python, with messages from the descriptors that buf builds from proto/. */
export async function pythonPeer(python: string): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), "xfn-interop-python-"));
  const args = ["build", join(CHECKOUT, "proto"), "--as-file-descriptor-set", "--output", join(folder, "set.binpb")];
  await promisify(execFile)(BUF, args, { env: environment(folder) });
  return peerOf([python, join(CHECKOUT, "test/interop/peer.py")], folder);
}

const BUF = join(CHECKOUT, "node_modules/.bin/buf");

function environment(folder: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    BUF_CACHE_DIR: join(folder, "buf"),
    XFN_DESCRIPTORS: join(folder, "set.binpb"),
    PYTHONDONTWRITEBYTECODE: "1",
    // A Go older than go.mod requires must fail, and not download another toolchain.
    GOTOOLCHAIN: "local",
    GOFLAGS: "-mod=readonly",
  };
}

function peerOf(command: readonly string[], folder: string): Peer {
  const start = (...args: string[]): Child => {
    const [program = "", ...before] = command;
    return spawn(program, [...before, ...args], { env: environment(folder), stdio: ["pipe", "pipe", "inherit"] });
  };
  return {
    call: (options) => clientOf(start("call", JSON.stringify(options))),
    serve: async (options) => await serverOf(start("serve", JSON.stringify(options))),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

function clientOf(child: Child): PeerClient {
  const waiting = new Map<number, (result: Result) => void>();
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    const { id, ...result } = JSON.parse(line) as Result & { id: number };
    waiting.get(id)?.(result);
  });
  child.stdin.on("error", () => undefined);
  let count = 0;
  const start: PeerClient["start"] = (order) => {
    const id = ++count;
    const { promise, resolve } = Promise.withResolvers<Result>();
    waiting.set(id, resolve);
    child.stdin.write(`${JSON.stringify({ ...order, id })}\n`);
    return { result: promise, cancel: () => child.stdin.write(`${JSON.stringify({ id, cancel: true })}\n`) };
  };
  return {
    start,
    run: async (order) => await start(order).result,
    kill: () => child.kill("SIGKILL"),
    [Symbol.asyncDispose]: () => end(child),
  };
}

async function serverOf(child: Child): Promise<PeerServer> {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, string>> => {
    const line = await lines.next();
    if (line.done === true) throw new Error("the peer has ended");
    return JSON.parse(line.value) as Record<string, string>;
  };
  const { address = "" } = await next();
  return {
    address,
    next,
    async kill() {
      child.kill("SIGKILL");
      await gone(child);
    },
    [Symbol.asyncDispose]: () => end(child),
  };
}

async function end(child: Child): Promise<void> {
  child.stdin.end();
  // Reject the pending orders.
  const guard = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await gone(child);
  clearTimeout(guard);
}

async function gone(child: Child): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
