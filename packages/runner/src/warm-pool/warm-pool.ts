import { availableParallelism } from "node:os";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { SandboxHost } from "../sandbox/sandbox-host.ts";
import type { Recipe } from "../sandbox/sandbox-spec.ts";
import type { DiscardReason, StartEarly, StartEarlyLimits } from "./limits.ts";
import type { Measured } from "./pool.ts";
import { EarlyPool } from "./pool.ts";
import type { RunnerEvent } from "./runner-event.ts";

/** What early sandboxes need from the runner. */
export interface EarlyOptions {
  policy: StartEarly;
  limits: StartEarlyLimits;
  prepare: (recipe: Recipe) => Promise<Sandbox>;
  host: () => SandboxHost | undefined;
  onEvent: (event: RunnerEvent) => void;
}

/** How often waiting sandboxes are looked at. */
const REVIEW_MS = 2_000;

/** A call that has just got its sandbox has the machine to itself for so long; most have ended by then. */
const AFTER_START_MS = 20;

/** The pool, with true sandboxes and true time. */
export class EarlySandboxes {
  readonly #options: EarlyOptions;
  readonly #pool: EarlyPool<Recipe, Sandbox>;
  readonly #cores = availableParallelism();
  #running = 0;
  #starting = 0;
  #refill: NodeJS.Timeout | undefined;
  #review: NodeJS.Timeout | undefined;

  constructor(options: EarlyOptions) {
    this.#options = options;
    this.#pool = new EarlyPool<Recipe, Sandbox>(
      {
        prepare: options.prepare,
        load: (sandbox) => this.#load(sandbox),
        start: (sandbox) => this.#start(sandbox),
        discard: (sandbox, reason) => this.#discard(sandbox, reason),
        isIdle: () => this.#starting === 0 && this.#running < this.#cores,
        now: () => performance.now(),
      },
      options.policy,
      options.limits,
    );
  }

  get waiting(): number {
    return this.#pool.waiting.length;
  }

  get running(): number {
    return this.#running;
  }

  /** That nothing more of an image is made until it is called again; false if a sandbox of it is kept. */
  forget(digest: string): boolean {
    if (this.#pool.kept.some(({ recipe }) => recipe.digest === digest)) return false;
    this.#pool.forget((recipe) => recipe.digest === digest);
    return true;
  }

  /**
   * The sandbox of a call, started: one that is there, or another one. `release` is to be called when the call has ended.
   *
   * @param start - starts one that was not started yet
   */
  async acquire(recipe: Recipe, start: (sandbox: Sandbox) => void): Promise<{ sandbox: Sandbox; release: () => void }> {
    this.#running++;
    this.#starting++;
    const kept = this.#pool.take(recipe);
    const release = (): void => {
      this.#running--;
      this.#pool.ended(recipe);
      this.#refillIn(0);
    };
    try {
      const sandbox = kept?.sandbox ?? (await this.#options.prepare(recipe));
      const early = kept?.started === true;
      if (!early) start(sandbox);
      const { digest } = recipe;
      if (early) this.#options.onEvent({ type: "sandbox-used", digest });
      this.#options.onEvent({ type: "call-started", digest, early });
      return { sandbox, release };
    } catch (error) {
      release();
      throw error;
    } finally {
      this.#starting--;
      this.#refillIn(AFTER_START_MS);
    }
  }

  /** The sandbox host has gone, and with it all that waited. */
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

  #start(sandbox: Sandbox): void {
    sandbox.start({ early: true });
    this.#options.onEvent({ type: "sandbox-waiting", digest: sandbox.recipe.digest });
    this.#watch(sandbox);
  }

  #watch(sandbox: Sandbox): void {
    const gone = (): void => this.#pool.gone(sandbox);
    sandbox.exit.then(gone, gone);
  }

  #discard(sandbox: Sandbox, reason: DiscardReason): void {
    sandbox.discard();
    if (sandbox.wasStarted) this.#options.onEvent({ type: "sandbox-discarded", digest: sandbox.recipe.digest, reason });
  }

  // Not in the turn of a call: its answer goes first.
  #refillIn(ms: number): void {
    clearTimeout(this.#refill);
    this.#refill = setTimeout(() => {
      void this.#pool.refill().then(() => this.#reviewLater());
    }, ms);
    this.#refill.unref();
  }

  #reviewLater(): void {
    if (this.#review !== undefined || this.#pool.isEmpty) return;
    this.#review = setTimeout(() => {
      void this.#look().finally(() => {
        this.#review = undefined;
        this.#refillIn(0);
      });
    }, REVIEW_MS);
    this.#review.unref();
  }

  async #look(): Promise<void> {
    const waiting = new Map(this.#pool.waiting.map((sandbox) => [sandbox.id, sandbox]));
    const usages = (await this.#options.host()?.measure([...waiting.keys()])) ?? [];
    const measured = usages.flatMap(({ id, bytes, cpuMs }): Measured<Sandbox>[] => {
      const sandbox = waiting.get(id);
      return sandbox === undefined ? [] : [{ sandbox, bytes, cpuMs }];
    });
    this.#pool.review(measured);
  }
}
