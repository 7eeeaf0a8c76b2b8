import { FunctionCallError, FunctionClient, type FunctionResponse, type UnaryCaller } from "@xfn/function-grpc";
import { PACKAGE_KEY } from "@xfn/runner-grpc";
import { rawCall } from "../../packages/runner-grpc/testing/raw-call.ts";
import { buildGoProgram } from "../harness/go-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { needs } from "../harness/needs.ts";
import { greetingOf, requestFor } from "../harness/served-functions.ts";
import type { Workspace } from "../harness/workspace.ts";
import type { Kind } from "./kinds.ts";

/** The images of functions that are servers. */
export interface ServedPlace {
  readonly good: string;
  /** The same, but calls may end its server: they must not end those of `good`. */
  readonly crashing: string;
  /** Exits before it listens. */
  readonly exiting: string;
}

/** Builds the images. @returns undefined if this machine cannot build a function in Go */
export async function prepareServed(workspace: Workspace): Promise<ServedPlace | undefined> {
  if (needs("go-functions").skip) return undefined;
  const program = buildGoProgram("go-greeting");
  const image = async (name: string, more: { entrypoint?: string[] } = {}): Promise<string> =>
    await buildGrpcImage(workspace, { name: `soak/${name}`, program, env: { GREETING: name }, ...more });
  return {
    good: await image("good"),
    crashing: await image("crashing"),
    exiting: await image("exiting", { entrypoint: ["/function", "--network=none"] }),
  };
}

/** A call that is answered by a server of many calls. */
export const served: Kind = async (place, index) => {
  if (place.served === undefined) return;
  const name = `${index}:${"x".repeat(index % 3_000)}`;
  const greeting = greetingOf(await call(place.socket, place.served.good, name));
  if (JSON.stringify(greeting) === JSON.stringify({ greeting: `good ${name}` })) return;
  throw new Error(`wrong greeting for ${name.slice(0, 20)}: ${JSON.stringify(greeting).slice(0, 200)}`);
};

// Statuses of gRPC: https://grpc.io/docs/guides/status-codes/
const [UNKNOWN, DEADLINE_EXCEEDED, ABORTED, UNAVAILABLE] = [2, 4, 10, 14];

/** A call that makes its server exit, also under the other calls of that server. */
export const servedCrash: Kind = async (place) => {
  if (place.served === undefined) return;
  await expectStatus(call(place.socket, place.served.crashing, "crash"), UNKNOWN, ABORTED, UNAVAILABLE);
};

/** A call whose caller leaves while the server starts, or while it answers. */
export const servedDeadline: Kind = async (place, index) => {
  if (place.served === undefined) return;
  // It may be answered in time, or lose its server to another call.
  const left = call(place.socket, place.served.crashing, "x", 1 + (index % 40));
  const isAnswered = await left.then(
    () => true,
    () => false,
  );
  if (!isAnswered) await expectStatus(left, DEADLINE_EXCEEDED, UNKNOWN, ABORTED, UNAVAILABLE);
};

/** A function whose server exits before it listens. */
export const servedExit: Kind = async (place) => {
  if (place.served === undefined) return;
  await expectStatus(call(place.socket, place.served.exiting, "x"), UNKNOWN, ABORTED);
};

async function call(socket: string, image: string, name: string, timeoutMs = 60_000): Promise<FunctionResponse> {
  const caller: UnaryCaller = {
    call: async (path, message) => {
      try {
        return await rawCall(`unix:${socket}`, path, message, { [PACKAGE_KEY]: image }, Date.now() + timeoutMs);
      } catch (error) {
        const { code, details } = error as { code: number; details: string };
        throw new FunctionCallError("Status", details, { status: code, cause: error });
      }
    },
  };
  return (await new FunctionClient(caller).run(requestFor(name), { timeoutMs })).response;
}

async function expectStatus(work: Promise<unknown>, ...statuses: (number | undefined)[]): Promise<void> {
  const error = await work.then(
    () => new Error("it succeeded"),
    (reason: unknown) => reason,
  );
  if (error instanceof FunctionCallError && statuses.includes(error.status)) return;
  throw new Error(`expected one of the statuses ${statuses.join(", ")}: ${String(error)}`, { cause: error });
}
