import { messageOf } from "@xfn/errors";

export interface ReadinessOptions {
  /** Rejects if no container can run. */
  readonly check: () => Promise<void>;
  /** Called when the state changes. */
  readonly onChange: (ready: boolean, reason: string | undefined) => void;
  /** The first pause after a check, in milliseconds. Each failure doubles it. */
  readonly firstPauseMs?: number;
  readonly longestPauseMs?: number;
}

const FIRST_PAUSE_MS = 1_000;

// The longest time until the runner notices that a missing program was installed, or that a full disk has space again.
const LONGEST_PAUSE_MS = 15_000;

/** Whether a container can run. Checks at once, and after a failure repeatedly until a check succeeds. */
export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #firstPauseMs: number;
  readonly #longestPauseMs: number;
  #ready = false;
  #reason: string | undefined = "not checked yet";
  #pauseMs: number;
  #checking = false;
  #checkAgain = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #lastCheckAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#firstPauseMs = options.firstPauseMs ?? FIRST_PAUSE_MS;
    this.#longestPauseMs = options.longestPauseMs ?? LONGEST_PAUSE_MS;
    this.#pauseMs = this.#firstPauseMs;
    void this.#check();
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** Why no container can run. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /**
   * Checks again soon, at most once per first pause: callers whose calls keep failing must not keep the runner busy.
   */
  recheck(): void {
    if (this.#stopped) return;
    if (this.#checking) this.#checkAgain = true;
    else this.#checkIn(Math.max(0, this.#lastCheckAt + this.#firstPauseMs - performance.now()));
  }

  /** Ends the checks: the runner is not ready from now on, for this reason. */
  stop(reason: string): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#set(false, reason);
  }

  async #check(): Promise<void> {
    this.#checking = true;
    this.#checkAgain = false;
    let failure: string | undefined;
    try {
      await this.#options.check();
    } catch (error) {
      failure = messageOf(error);
    }
    this.#checking = false;
    this.#lastCheckAt = performance.now();
    if (this.#stopped) return;
    this.#set(failure === undefined, failure);
    if (failure === undefined) this.#pauseMs = this.#firstPauseMs;
    if (this.#checkAgain) this.#checkIn(this.#firstPauseMs);
    else if (failure !== undefined) {
      this.#checkIn(this.#pauseMs);
      this.#pauseMs = Math.min(this.#pauseMs * 2, this.#longestPauseMs);
    }
  }

  #checkIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#check(), ms);
    this.#timer.unref();
  }

  #set(ready: boolean, reason: string | undefined): void {
    const changed = ready !== this.#ready || reason !== this.#reason;
    this.#ready = ready;
    this.#reason = reason;
    if (changed) this.#options.onChange(ready, reason);
  }
}
