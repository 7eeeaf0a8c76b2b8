import { Socket } from "node:net";
import { messageOf } from "@xfn/errors";
import { connectContainer } from "./connect-container.ts";
import { Container, type ContainerEnd } from "./container.ts";
import type {
  ConnectRequest,
  KillRequest,
  LoadRequest,
  MeasureRequest,
  MoveRequest,
  PrepareRequest,
  StartRequest,
} from "./protocol.ts";
import { monotonicMs } from "./protocol.ts";
import { RootFilesystems } from "./root-filesystem.ts";
import { runtimeError } from "./runtime-log.ts";
import type { FunctionsHost, Send } from "./serve-requests.ts";
import { reap } from "./syscalls.ts";
import { usageOf } from "./usage.ts";

/**
 * crun exits within milliseconds after its container. A hanging crun is killed, so that a call ends soon after its
 * deadline.
 */
const RUNTIME_GRACE_MS = 1_000;

/** After this time the answer has been sent. */
const REMOVAL_DELAY_MS = 3;

/** All containers of the sandbox host, from their preparation to their end. */
export class ContainerHost implements FunctionsHost {
  readonly #scratch: string;
  readonly #cgroups: string;
  readonly #send: Send;
  readonly #rootFilesystems: RootFilesystems;
  readonly #containers = new Map<string, Container>();

  /**
   * @param scratch a private tmpfs
   * @param cgroups the mount point of the host's cgroups
   */
  constructor(scratch: string, cgroups: string, send: Send) {
    this.#scratch = scratch;
    this.#cgroups = cgroups;
    this.#send = send;
    this.#rootFilesystems = new RootFilesystems(scratch);
  }

  async prepare(request: PrepareRequest, config: string): Promise<void> {
    const { id } = request;
    try {
      const prepared = await this.#rootFilesystems.prepare(request);
      const container = new Container(this.#scratch, id, config);
      this.#containers.set(id, container);
      this.#send({ type: "prepared", id, fds: container.pipes, ...prepared });
    } catch (error) {
      this.#rootFilesystems.remove(id);
      this.#send({ type: "prepareFailed", id, message: messageOf(error) });
    }
  }

  load(request: LoadRequest): void {
    const container = this.#containers.get(request.id);
    if (container === undefined) return;
    try {
      container.load(request);
    } catch {
      // The call gets another container, which reports the reason if it fails too.
      this.#ended(container, { code: null, strays: false });
    }
  }

  start(request: StartRequest): void {
    const container = this.#containers.get(request.id);
    if (container === undefined) return;
    container.start({ ...request, cgroupProcs: this.#pathsOf(request.cgroupProcs) }).catch((error: unknown) => {
      // Its end may have been reported in the meantime.
      if (this.#containers.get(container.id) !== container) return;
      this.#send({ type: "startFailed", id: container.id, message: messageOf(error) });
      this.#remove(container);
    });
  }

  /** Moves the processes of a container to other cgroups. */
  move({ id, cgroupProcs }: MoveRequest): void {
    void this.#containers.get(id)?.move(this.#pathsOf(cgroupProcs));
  }

  #pathsOf(cgroupProcs: readonly string[]): string[] {
    return cgroupProcs.map((path) => `${this.#cgroups}/${path}`);
  }

  kill({ id }: KillRequest): void {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    if (container.isPrepared) {
      this.#remove(container);
      return;
    }
    container.kill();
    setTimeout(() => {
      if (this.#containers.has(id)) container.killRuntime();
    }, RUNTIME_GRACE_MS).unref();
  }

  measure({ ids }: MeasureRequest): void {
    const usages = ids.flatMap((id) => {
      const root = this.#containers.get(id)?.root;
      if (root === undefined) return [];
      const usage = usageOf(root);
      return [{ id, bytes: usage.bytes + this.#rootFilesystems.used(id), cpuMs: usage.cpuMs }];
    });
    this.#send({ type: "measured", usages });
  }

  /** Connects to a port of a container, and sends the socket. */
  async connect({ id, number, port, isolated, timeoutMs }: ConnectRequest): Promise<void> {
    const container = this.#containers.get(id);
    const result = await connectContainer(
      {
        init: () => container?.init,
        ended: () => container === undefined || this.#containers.get(id) !== container,
        isolated,
      },
      port,
      timeoutMs,
    );
    if (!("fd" in result)) return this.#send({ type: "connection", number, ...result });
    // Not readable: this process would otherwise consume the first bytes of the server.
    this.#send({ type: "connection", number }, new Socket({ fd: result.fd, readable: false, writable: false }));
  }

  /** Reaps all children that have ended. Call it on SIGCHLD. */
  reap(): void {
    for (let status = reap(); status !== undefined; status = reap()) {
      const container = this.#ownerOf(status.pid);
      if (container === undefined) {
        for (const candidate of this.#containers.values()) candidate.mayClaim(status);
        continue;
      }
      const end = container.childEnded(status);
      if (end !== undefined) this.#ended(container, end);
    }
  }

  #ownerOf(pid: number): Container | undefined {
    for (const container of this.#containers.values()) if (container.owns(pid)) return container;
    return undefined;
  }

  #ended(container: Container, { code, strays }: ContainerEnd): void {
    const { id } = container;
    if (strays) container.killStrays();
    const failed = code !== 0;
    // Report before the removal: no process is left, and only this process can see the rest.
    this.#send({
      type: "exited",
      id,
      mayHaveRun: container.mayHaveRun,
      at: monotonicMs(),
      code,
      runtimeError: failed ? runtimeError(this.#scratch, id, code) : null,
      diskFull: failed && this.#rootFilesystems.isFull(id),
    });
    this.#remove(container, strays);
  }

  #remove(container: Container, strays = false): void {
    this.#containers.delete(container.id);
    container.close();
    const remove = (): void => {
      if (strays && container.killStrays() > 0) return void setTimeout(remove, REMOVAL_DELAY_MS);
      container.release();
      this.#rootFilesystems.remove(container.id);
    };
    // Unmounting occupies a processor that the answer needs to reach its caller.
    setTimeout(remove, REMOVAL_DELAY_MS);
  }
}
