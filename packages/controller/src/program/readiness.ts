/** The state that `/readyz` reports. A standby is ready: it serves as a replacement for the leader. */
export class Readiness {
  #state = "starting";
  #stopping = false;

  /** Why the program is not ready; undefined if it is. */
  get problem(): string | undefined {
    return this.#state === "ready" || this.#state === "standby" ? undefined : this.#state;
  }

  set(state: "starting" | "standby" | "ready"): void {
    if (!this.#stopping) this.#state = state;
  }

  /** Stays not ready from now on. */
  stop(signal: string): void {
    this.#stopping = true;
    this.#state = `stopping (${signal})`;
  }
}
