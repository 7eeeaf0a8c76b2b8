/** The state that `/readyz` reports. A standby is ready: it serves as a replacement for the leader. */
export class Readiness {
  #state = "starting";
  #stopping = false;
  readonly #checks: (() => string | undefined)[] = [];

  /** Why the program is not ready; undefined if it is. */
  get problem(): string | undefined {
    if (this.#state !== "ready" && this.#state !== "standby") return this.#state;
    for (const check of this.#checks) {
      const problem = check();
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  /** @param check returns what is wrong; undefined if nothing is */
  check(check: () => string | undefined): void {
    this.#checks.push(check);
  }

  set(state: "starting" | "standby" | "ready"): void {
    if (!this.#stopping) this.#state = state;
  }

  /** Not ready for this reason, until the next `set`. */
  unready(problem: string): void {
    if (!this.#stopping) this.#state = problem;
  }

  /** Stays not ready from now on. */
  stop(signal: string): void {
    this.#stopping = true;
    this.#state = `stopping (${signal})`;
  }
}
