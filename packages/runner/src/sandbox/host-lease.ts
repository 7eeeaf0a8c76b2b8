import type { SandboxHost } from "./sandbox-host.ts";

/** Keeps a sandbox host alive until the lease is disposed. If the host cannot be started, holds the reason. */
export class HostLease implements Disposable {
  readonly #host: SandboxHost | undefined;
  readonly #missing: unknown;

  /** @param open starts or finds the host. Its error is reported only to calls that need the host. */
  constructor(open: () => SandboxHost | undefined) {
    try {
      this.#host = open();
      this.#host?.acquire();
    } catch (missing) {
      this.#missing = missing;
    }
  }

  /** @throws the reason for which the host could not be started */
  check(): void {
    if (this.#missing !== undefined) throw this.#missing;
  }

  [Symbol.dispose](): void {
    this.#host?.release();
  }
}

/** For functions that need no OCI runtime. */
export const NO_HOST: HostLease = new HostLease(() => undefined);
