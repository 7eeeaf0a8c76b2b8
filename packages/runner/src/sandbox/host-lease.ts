import type { SandboxHost } from "./sandbox-host.ts";

/** A sandbox host that a call keeps alive until it is disposed, or the reason why there is none. */
export class HostLease implements Disposable {
  readonly #host: SandboxHost | undefined;
  readonly #missing: unknown;

  /** @param open starts or finds the host. An error is reported only to calls that need the host */
  constructor(open: () => SandboxHost | undefined) {
    try {
      this.#host = open();
      this.#host?.acquire();
    } catch (missing) {
      this.#missing = missing;
    }
  }

  /** @throws the reason why the host could not be started */
  check(): void {
    if (this.#missing !== undefined) throw this.#missing;
  }

  [Symbol.dispose](): void {
    this.#host?.release();
  }
}

/** For functions that need no OCI runtime. */
export const NO_HOST: HostLease = new HostLease(() => undefined);
