/** Whether a container can be run, as far as it is known. */
export interface Readiness {
  readonly ready: boolean;
  /** Why not. */
  readonly reason: string | undefined;
  /** Looks again, soon: something happened that makes the answer doubtful. */
  recheck(): void;
  /** Not ready from now on, for this reason. */
  stop(reason: string): void;
}

export interface ReadinessOptions {
  /** Rejects unless a container can be run. */
  readonly check: () => Promise<void>;
  /** Told at each change. */
  readonly onChange: (ready: boolean, reason: string | undefined) => void;
  /** The first pause after a failed check, in milliseconds; each is twice as long as the one before. */
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

  const set = (nowReady: boolean, why: string | undefined): void => {
    const changed = nowReady !== ready || why !== reason;
    ready = nowReady;
    reason = why;
    if (changed) options.onChange(ready, reason);
  };
  const look = async (): Promise<void> => {
    clearTimeout(timer);
    if (running || stopped) {
      again = running;
      return;
    }
    running = true;
    let failure: string | undefined;
    try {
      await options.check();
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    running = false;
    if (isStopped()) return;
    set(failure === undefined, failure);
    if (failure === undefined) pauseMs = firstPauseMs;
    if (again) {
      again = false;
      void look();
    } else if (failure !== undefined) {
      timer = setTimeout(() => void look(), pauseMs);
      timer.unref();
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
    recheck: () => void look(),
    stop(why) {
      stopped = true;
      clearTimeout(timer);
      set(false, why);
    },
  };
}
