import { availableParallelism } from "node:os";
import type { WaitingGroup } from "../cgroup/waiting-group.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { SandboxHost } from "../sandbox/sandbox-host.ts";
import type { SandboxSpec } from "../sandbox/sandbox-spec.ts";
import type { DiscardReason, WarmPoolLimits, WarmPoolPolicy } from "./limits.ts";
import type { Measured } from "./pool.ts";
import { SandboxPool } from "./pool.ts";
import type { RunnerEvent } from "./runner-event.ts";

/** The parts of the runner that the warm pool needs. */
export interface WarmPoolOptions {
  policy: WarmPoolPolicy;
  limits: WarmPoolLimits;
  prepare: (spec: SandboxSpec) => Promise<Sandbox>;
  /**
   * Returns the group that limits waiting sandboxes; `unbounded` if they may wait without a limit, undefined if none
   * may wait.
   */
  waitingGroup: () => WaitingGroup | "unbounded" | undefined;
  host: () => SandboxHost | undefined;
  /** Other resources that count against the limits. */
  reserved: () => { count: number; bytes: number };
  onEvent: (event: RunnerEvent) => void;
}

/** The interval between measurements of waiting sandboxes. */
const REVIEW_MS = 2_000;

/** The time for which a call that has just got its sandbox keeps the machine to itself. Most calls end within it. */
const AFTER_START_MS = 20;

/** Gives calls their sandboxes, and fills a {@link SandboxPool} in idle time. */
export class WarmPool {
  readonly #options: WarmPoolOptions;
  readonly #pool: SandboxPool<SandboxSpec, Sandbox>;
  readonly #cores = availableParallelism();
  #running = 0;
  #starting = 0;
  #refill: NodeJS.Timeout | undefined;
  #review: NodeJS.Timeout | undefined;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
    this.#pool = new SandboxPool<SandboxSpec, Sandbox>(
      {
        prepare: options.prepare,
        load: (sandbox) => this.#load(sandbox),
        start: (sandbox) => this.#start(sandbox),
        mayStart: (spec) => this.#mayStart(spec),
        discard: (sandbox, reason) => this.#discard(sandbox, reason),
        reserved: options.reserved,
        isIdle: () => this.#starting === 0 && this.#running < this.#cores,
        now: () => performance.now(),
      },
      options.policy,
      options.limits,
    );
  }

  /** The number of pre-started sandboxes. */
  get waiting(): number {
    return this.#pool.waiting.length;
  }

  /** The number of calls that have a sandbox or are about to get one. */
  get running(): number {
    return this.#running;
  }

  /** Stops pre-starting sandboxes of an image until its next call; false if the pool has one. */
  forget(digest: string): boolean {
    if (this.#pool.all.some(({ spec }) => spec.digest === digest)) return false;
    this.#pool.forget((spec) => spec.digest === digest);
    return true;
  }

  /**
   * Gives a call its started sandbox: from the pool, or a new one. The caller must call `release` after the call.
   *
   * @param start starts a sandbox that is not started yet
   */
  async acquire(
    spec: SandboxSpec,
    start: (sandbox: Sandbox) => void,
  ): Promise<{ sandbox: Sandbox; release: () => void }> {
    this.#running++;
    this.#starting++;
    const pooled = this.#pool.take(spec);
    const release = (): void => {
      this.#running--;
      this.#pool.ended(spec);
      this.#refillIn(0);
    };
    try {
      const sandbox = pooled?.sandbox ?? (await this.#options.prepare(spec));
      const warm = pooled?.started === true;
      if (!warm) start(sandbox);
      const { digest } = spec;
      if (warm) this.#options.onEvent({ type: "sandbox-used", digest });
      this.#options.onEvent({ type: "call-started", digest, warm });
      return { sandbox, release };
    } catch (error) {
      release();
      throw error;
    } finally {
      this.#starting--;
      this.#refillIn(AFTER_START_MS);
    }
  }

  /** Empties the pool after the sandbox host has ended. */
  clear(): void {
    this.#pool.clear();
  }

  close(): void {
    clearTimeout(this.#refill);
    clearTimeout(this.#review);
    this.#pool.close();
  }

  #load(sandbox: Sandbox): void {
    sandbox.load();
    this.#watch(sandbox);
  }

  #mayStart(spec: SandboxSpec): boolean {
    const group = spec.mayPreStart ? this.#options.waitingGroup() : undefined;
    return group === "unbounded" || group?.bounds(spec.limits) === true;
  }

  #start(sandbox: Sandbox): void {
    const group = this.#options.waitingGroup();
    const waiting = group === undefined || group === "unbounded" ? undefined : sandbox.placeIn(group);
    sandbox.start({ preStarted: true, waiting });
    this.#options.onEvent({ type: "sandbox-waiting", digest: sandbox.spec.digest });
    this.#watch(sandbox);
  }

  #watch(sandbox: Sandbox): void {
    const gone = (): void => this.#pool.gone(sandbox);
    sandbox.exit.then(gone, gone);
  }

  #discard(sandbox: Sandbox, reason: DiscardReason): void {
    sandbox.discard();
    if (sandbox.wasStarted) this.#options.onEvent({ type: "sandbox-discarded", digest: sandbox.spec.digest, reason });
  }

  // In a later turn of the event loop: a call's answer has priority.
  #refillIn(ms: number): void {
    clearTimeout(this.#refill);
    this.#refill = setTimeout(() => {
      void this.#pool.refill().then(() => this.#scheduleReview());
    }, ms);
    this.#refill.unref();
  }

  #scheduleReview(): void {
    if (this.#review !== undefined || this.#pool.isEmpty) return;
    this.#review = setTimeout(() => {
      void this.#reviewNow().finally(() => {
        this.#review = undefined;
        this.#refillIn(0);
      });
    }, REVIEW_MS);
    this.#review.unref();
  }

  async #reviewNow(): Promise<void> {
    const waiting = new Map(this.#pool.waiting.map((sandbox) => [sandbox.id, sandbox]));
    const usages = (await this.#options.host()?.measure([...waiting.keys()])) ?? [];
    const measured = usages.flatMap(({ id, bytes, cpuMs }): Measured<Sandbox>[] => {
      const sandbox = waiting.get(id);
      return sandbox === undefined ? [] : [{ sandbox, bytes, cpuMs }];
    });
    this.#pool.review(measured);
  }
}
