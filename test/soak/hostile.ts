import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { gzipSync } from "node:zlib";
import { RunnerGrpcError } from "@xfn/runner-grpc";
import { testImage, writeLayout } from "../../packages/oci-rootfs/testing/layout.ts";
import { file, type RawEntry, tarball } from "../../packages/oci-rootfs/testing/tarball.ts";
import { buildCodeFunction } from "../harness/code-function.ts";
import { keepsDescriptor, passesStdout } from "../harness/passed-descriptor.ts";
import { which } from "../harness/which.ts";
import type { Workspace } from "../harness/workspace.ts";
import type { Kind } from "./kinds.ts";

/** Images for the hostile calls. */
export interface HostilePlace {
  /** Images that no store may accept. */
  readonly images: readonly string[];
  /** An image that runs Python code; undefined if this machine has no Python. */
  readonly python: string | undefined;
}

const MiB = 1024 * 1024;

/** Makes the hostile images, as layouts. */
export async function prepareHostile(workspace: Workspace): Promise<HostilePlace> {
  const layers: Record<string, RawEntry[]> = {
    // 50,200 directories that no entry names.
    directories: Array.from({ length: 200 }, (_, entry) => file(`${entry}/${"d/".repeat(250)}f`)),
    // A gigabyte of zeros in a few bytes.
    zeros: [{ ...file("zeros"), size: 1024 * MiB }],
    device: [{ name: "mem", type: "3", device: [1, 1] }],
    parent: [file("../../outside", "x")],
  };
  const images = Object.entries(layers).map(([name, entries]) =>
    writeLayout(workspace.path(`hostile-${name}`), testImage([tarball(entries)])),
  );
  const config = { Entrypoint: ["/run"], Env: [`A=${"a".repeat(2 * MiB)}`] };
  const large = testImage([tarball([file("run", "x")])], { config });
  return {
    images: [...images, writeLayout(workspace.path("hostile-environment"), large)],
    python: which("python3") === undefined ? undefined : await buildCodeFunction(workspace, "python"),
  };
}

/** An image that the store refuses. */
export const hostileImage: Kind = async ({ client, hostile: { images } }, index) => {
  const image = images[index % images.length] ?? "";
  const outcome = await client.run(image, new Uint8Array(1), { timeoutMs: 60_000 }).catch((error: unknown) => error);
  if (outcome instanceof RunnerGrpcError && ["ImageInvalid", "PullFailed"].includes(outcome.code)) return;
  throw new Error(`expected ImageInvalid or PullFailed for ${image}: ${String(outcome)}`, { cause: outcome });
};

/** Calls at once that the server refuses by their headers. */
const FLOOD = 200;
const UNIMPLEMENTED = 12;

/** A flood of refused calls, each with a message that would inflate to 100 MiB. */
export const gzipBombs: Kind = async ({ socket }) => {
  const session = connect("http://localhost", {
    createConnection: () => connectSocket(socket),
    // Raises Node's bound of a sender: the bounds of the server count here.
    maxSessionMemory: 1_000,
  });
  session.on("error", () => undefined);
  try {
    const statuses = await Promise.all(Array.from({ length: FLOOD }, async () => await statusOf(bombing(session))));
    const wrong = statuses.filter((status) => status !== UNIMPLEMENTED);
    if (wrong.length > 0) throw new Error(`${wrong.length} of ${FLOOD} bombs had another status, such as ${wrong[0]}`);
  } finally {
    session.destroy();
  }
};

const inflated = gzipSync(Buffer.alloc(100 * MiB));
const bomb = Buffer.concat([Buffer.of(1, 0, 0, 0, 0), inflated]);
bomb.writeUInt32BE(inflated.length, 1);

function bombing(session: ClientHttp2Session): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": "/apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService/RunFunction",
    "content-type": "application/grpc",
    "grpc-encoding": "gzip",
    te: "trailers",
  });
  return stream.end(bomb);
}

async function statusOf(stream: ClientHttp2Stream): Promise<number> {
  let status = -1;
  const found = (headers: NodeJS.Dict<string | string[]>): void => {
    if (headers["grpc-status"] !== undefined) status = Number(headers["grpc-status"]);
  };
  stream
    .on("error", () => undefined)
    .on("response", found)
    .on("trailers", found)
    .resume();
  await new Promise((resolve) => stream.on("end", resolve).on("close", resolve));
  return status;
}

/** A function passes its stdout to another one, which keeps it open. */
export const passesDescriptor: Kind = async ({ client, hostile: { python } }, index) => {
  if (python === undefined) return;
  const name = `xfn-soak-${process.pid}-${index}`;
  const stop = new AbortController();
  const options = { network: "Accessible", timeoutMs: 60_000 } as const;
  const keeper = client.run(python, Buffer.from(keepsDescriptor(name)), { ...options, signal: stop.signal });
  const kept = keeper.then(
    () => "answered",
    (error: unknown) => (error instanceof RunnerGrpcError ? error.code : String(error)),
  );
  const answer = await client.run(python, Buffer.from(passesStdout(name)), options);
  stop.abort();
  const keeperEnd = await kept;
  if (Buffer.from(answer).toString() !== "answer\n" || keeperEnd !== "Aborted")
    throw new Error(`unexpected answer ${Buffer.from(answer).toString()}; the other function: ${keeperEnd}`);
};
