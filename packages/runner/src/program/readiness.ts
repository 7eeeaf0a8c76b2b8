/** Whether a container can be run, as far as it is known. */
export interface Readiness {
  readonly ready: boolean;
  /** Why not. */
  readonly reason: string | undefined;
  /** Looks again, soon: something happened that makes the answer doubtful. At most once per first pause, however often it is called. */
  recheck(): void;
  /** Not ready from now on, for this reason. */
  stop(reason: string): void;
}

export interface ReadinessOptions {
  /** Rejects unless a container can be run. */
  readonly check: () => Promise<void>;
  /** Told at each change. */
  readonly onChange: (ready: boolean, reason: string | undefined) => void;
  /** The first pause after a check, in milliseconds; after failed ones each is twice as long as the one before. */
  readonly firstPauseMs?: number;
  readonly longestPauseMs?: number;
}

const FIRST_PAUSE_MS = 1_000;

// A missing program that is installed, a full disk that is emptied: seen within this time.
const LONGEST_PAUSE_MS = 15_000;

/** Checks now, and after a failure again and again until it succeeds. A check that succeeded counts until something happens. */
export function watchReadiness(options: ReadinessOptions): Readiness {
  const { firstPauseMs = FIRST_PAUSE_MS, longestPauseMs = LONGEST_PAUSE_MS } = options;
  let ready = false;
  let reason: string | undefined = "not checked yet";
  let pauseMs = firstPauseMs;
  let running = false;
  let again = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let ended = Number.NEGATIVE_INFINITY;

  const set = (nowReady: boolean, why: string | undefined): void => {
    const changed = nowReady !== ready || why !== reason;
    ready = nowReady;
    reason = why;
    if (changed) options.onChange(ready, reason);
  };
  const lookIn = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void look(), ms);
    timer.unref();
  };
  const look = async (): Promise<void> => {
    running = true;
    again = false;
    let failure: string | undefined;
    try {
      await options.check();
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    running = false;
    ended = performance.now();
    if (isStopped()) return;
    set(failure === undefined, failure);
    if (failure === undefined) pauseMs = firstPauseMs;
    if (again) lookIn(firstPauseMs);
    else if (failure !== undefined) {
      lookIn(pauseMs);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  };
  // It may have been stopped while it waited for the check.
  const isStopped = (): boolean => stopped;
  void look();
  return {
    get ready() {
      return ready;
    },
    get reason() {
      return reason;
    },
    recheck() {
      if (stopped) return;
      // A caller that has one call after the other fail does not keep the runner busy with itself.
      if (running) again = true;
      else lookIn(Math.max(0, ended + firstPauseMs - performance.now()));
    },
    stop(why) {
      stopped = true;
      clearTimeout(timer);
      set(false, why);
    },
  };
}
