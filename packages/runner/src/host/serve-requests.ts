// The protocol of a host process: its action for each request, for hosts of containers and of chroots. It imports
// nothing that only one of them needs.
import type { Socket } from "node:net";
import { messageOf } from "@xfn/errors";
import type {
  ConnectRequest,
  HostRequest,
  HostResponse,
  KillRequest,
  LoadRequest,
  MeasureRequest,
  MoveRequest,
  PrepareRequest,
  StartRequest,
} from "./protocol.ts";

/** Sends a response to the runner, and a socket with it. */
export type Send = (response: HostResponse, socket?: Socket) => void;

/** All functions of one host, from their preparation to their end. Requests without a method are ignored. */
export interface FunctionsHost {
  prepare(request: PrepareRequest, config: string): Promise<void>;
  load?(request: LoadRequest): void;
  start(request: StartRequest): void;
  kill(request: KillRequest): void;
  move?(request: MoveRequest): void;
  measure?(request: MeasureRequest): void;
  connect?(request: ConnectRequest): Promise<void>;
  /** Reaps all children that have ended. */
  reap(): void;
}

/**
 * Serves the requests that the runner sends to this process.
 *
 * @param open creates the host in an existing directory. Called for the first request; its error is reported to the
 *   runner.
 * @param onDisconnect called when the runner has gone
 */
export function serveRequests(open: (scratch: string, send: Send) => FunctionsHost, onDisconnect: () => void): void {
  let host: FunctionsHost | undefined;
  /** Texts of config.json. The runner bounds their number and size. */
  const configs = new Map<number, string>();
  process.on("message", (message) => handle(message as HostRequest));
  process.on("disconnect", onDisconnect);
  process.on("SIGCHLD", () => host?.reap());

  function handle(request: HostRequest): void {
    switch (request.type) {
      case "init":
        initialise(request.scratch);
        break;
      case "config":
        if (request.number === 0) configs.clear();
        configs.set(request.number, request.text);
        break;
      case "prepare":
        // Look the text up at once: the next message may replace it.
        prepare(request, configs.get(request.config));
        break;
      case "load":
        host?.load?.(request);
        break;
      case "start":
        host?.start(request);
        break;
      case "kill":
        host?.kill(request);
        break;
      case "move":
        host?.move?.(request);
        break;
      case "measure":
        host?.measure?.(request);
        break;
      case "connect":
        void host?.connect?.(request);
        break;
    }
  }

  function initialise(scratch: string): void {
    try {
      // Functions run with other ids than the runner and must be able to read files of the host, under any umask.
      process.umask(0o022);
      host = open(scratch, send);
      send({ type: "ready" });
    } catch (error) {
      send({ type: "failed", message: messageOf(error) });
    }
  }

  function prepare(request: PrepareRequest, config: string | undefined): void {
    if (config !== undefined) return void host?.prepare(request, config);
    const message = `no config.json was sent with number ${request.config}`;
    send({ type: "prepareFailed", id: request.id, message });
  }
}

function send(response: HostResponse, socket?: Socket): void {
  // Without a connection the runner has gone.
  if (process.connected) process.send?.(response, socket);
}
