import { connect, createServer } from "node:net";
import { join } from "node:path";
import { createRunnerClient, type RunnerClient, RunnerGrpcError, type RunOptions } from "@xfn/runner-grpc";
import { SHELL } from "../harness/shell-function.ts";
import { gzipBombs, type HostilePlace, hostileImage, passesDescriptor } from "./hostile.ts";
import { type ServedPlace, served, servedCrash, servedDeadline, servedExit } from "./served.ts";
import { killUntil } from "./watch.ts";

/** The server and resources for a kind of call. */
export interface Place {
  readonly client: RunnerClient;
  /** The server's path socket. */
  readonly socket: string;
  /** A folder for the sockets of calls. */
  readonly folder: string;
  /** Whether the server can enforce memory limits. */
  readonly limits: boolean;
  readonly hostile: HostilePlace;
  /** Undefined: this machine cannot build a function that is a server. */
  readonly served: ServedPlace | undefined;
}

/** Makes one call with a unique `index`, and throws if its outcome is unexpected. */
export type Kind = (place: Place, index: number) => Promise<void>;

// Longer than any test waits, so that a call without its intended fault shows.
const FOREVER = 600;

const run = (place: Place, script: string, rest: string, options: RunOptions = {}): Promise<Uint8Array> =>
  place.client.run(SHELL, Buffer.from(`${script}\n${rest}`), { timeoutMs: 60_000, ...options });

async function expectOutput(call: Promise<Uint8Array>, wanted: string): Promise<void> {
  const output = Buffer.from(await call).toString();
  if (output === wanted) return;
  throw new Error(`wrong output: ${output.length} bytes instead of ${wanted.length}: ${output.slice(0, 200)}`);
}

async function expectFailure(call: Promise<unknown>, ...codes: string[]): Promise<void> {
  const error = await call.then(
    () => new Error("it succeeded"),
    (reason: unknown) => reason,
  );
  if (error instanceof RunnerGrpcError && codes.includes(error.code)) return;
  throw new Error(`expected ${codes.join(" or ")}: ${String(error)}`, { cause: error });
}

// Each input and output is unique, so that an answer to the wrong caller shows.
const echo: Kind = (place, index) => {
  const text = `${index}:${"x".repeat(index % 3_000)}`;
  return expectOutput(run(place, "cat", text), text);
};

const large: Kind = (place, index) => {
  const text = `${index}:`.repeat(200_000);
  return expectOutput(run(place, "cat", text), text);
};

const unread: Kind = (place) => expectOutput(run(place, "echo done", "x".repeat(300_000)), "done\n");
const noisy: Kind = (place, index) =>
  expectOutput(run(place, "head -c 100000 /dev/zero >&2; cat", `${index}`), `${index}`);
const limited: Kind = (place, index) =>
  expectOutput(run(place, "cat", `${index}`, place.limits ? { memoryBytes: 64 * 1024 * 1024 } : {}), `${index}`);

/** Calls that succeed, mostly of the first kind. */
export const GOOD: readonly Kind[] = [
  ...Array.from({ length: 92 }, () => echo),
  large,
  unread,
  noisy,
  ...five(limited),
  ...five(served),
];

const exits: Kind = (place) => expectFailure(run(place, "echo broken >&2; exit 3", ""), "NonZeroExit");
const unknownImage: Kind = (place, index) =>
  expectFailure(
    place.client.run(`registry.example.org/none:${index}`, new Uint8Array(1), { pullPolicy: "Never" }),
    "PullFailed",
    "ImageInvalid",
  );
const deadline: Kind = (place, index) =>
  expectFailure(run(place, `sleep ${FOREVER}`, "", { timeoutMs: 1 + (index % 40) }), "Timeout");

const cancelled: Kind = async (place, index) => {
  const aborter = new AbortController();
  // The index varies the moment: before the call is sent, while its container starts, while the function runs.
  const timer = setTimeout(() => aborter.abort(), index % 40);
  await expectFailure(run(place, `sleep ${FOREVER}`, "", { signal: aborter.signal }), "Aborted");
  clearTimeout(timer);
};

// The caller's connection breaks, as if the caller were killed.
const disconnected: Kind = async (place, index) => {
  const path = join(place.folder, `${index}.sock`);
  const proxy = createServer((socket) => {
    const through = connect(place.socket);
    socket.pipe(through).pipe(socket);
    for (const end of [socket, through]) end.on("error", () => undefined);
    setTimeout(() => {
      through.destroy();
      socket.destroy();
    }, index % 60);
  });
  await new Promise<void>((resolve) => proxy.listen(path, resolve));
  // The client reconnects if the connection breaks before the call is sent. The new connection breaks too.
  const client = createRunnerClient({ endpoint: `unix:${path}`, marginMs: 1_000 });
  const call = client.run(SHELL, Buffer.from(`sleep ${FOREVER}\n`), { timeoutMs: 2_000 });
  await expectFailure(call, "Unavailable", "Aborted", "Internal", "Timeout");
  client.close();
  await new Promise((resolve) => proxy.close(resolve));
};

const tooLarge: Kind = (place) => expectFailure(run(place, "cat /dev/zero", ""), "OutputTooLarge");
const outOfMemory: Kind = (place) =>
  place.limits
    ? expectFailure(
        run(place, "x=$(head -c 100000000 /dev/zero | tr '\\0' x); exit 1", "", { memoryBytes: 16 * 1024 * 1024 }),
        "OutOfMemory",
      )
    : Promise.resolve();
const killed: Kind = async (place, index) => {
  // Unique among all processes.
  const seconds = `${FOREVER}.${index}`;
  const call = expectFailure(run(place, `exec sleep ${seconds}`, ""), "Killed");
  // Kill more than once: the runner retries a pre-started function that may have died before it got its input.
  await killUntil(call, ["sleep", seconds]);
  await call;
};

/** Calls that fail. Expensive kinds are rare. */
export const FAULTY: readonly Kind[] = [
  ...[exits, unknownImage, deadline, cancelled, disconnected].flatMap((kind) => [...five(kind), ...five(kind)]),
  tooLarge,
  outOfMemory,
  killed,
  hostileImage,
  hostileImage,
  gzipBombs,
  passesDescriptor,
  servedCrash,
  servedDeadline,
  servedExit,
];

/** The same for functions that are servers alone. */
export const SERVED: { readonly good: readonly Kind[]; readonly faulty: readonly Kind[] } = {
  good: [served],
  faulty: [...five(servedCrash), ...five(servedDeadline), servedExit],
};

function five(kind: Kind): Kind[] {
  return [kind, kind, kind, kind, kind];
}
