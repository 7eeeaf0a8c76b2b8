import type { LiveObject } from "@xfn/kubernetes";
import type { StepCondition, StepResult } from "@xfn/pipeline";
import type { Condition } from "../../objects/conditions.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import type { Plan } from "../../plan/plan.ts";
import { RunSecrets } from "./run-secrets.ts";

/**
 * The number of results of one run that have an event. A function can return any number of results, and others in each
 * run. docs/concepts/controller.md documents the number.
 */
const MAX_RESULTS = 20;

/** An event to emit at the end of a reconcile. */
export interface Note {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** The object that the event is about: the XR, its claim if it has one, or an adopted object. */
  readonly about: "composite" | "claim" | LiveObject;
}

/** Callbacks of a reconcile before its end. */
export interface ShownCallbacks {
  /** Logs a planned write. */
  readonly logWrite: (fields: Readonly<Record<string, string>>) => void;
  /** Lets the claim copy conditions of these types. */
  readonly showOnClaim: (types: readonly string[]) => void;
}

/** Callbacks that do nothing. */
export const NO_CALLBACKS: ShownCallbacks = { logWrite: () => undefined, showOnClaim: () => undefined };

/** Everything that one reconcile shows to users, and the values that it must not show. */
export class Shown {
  /** The events, in order. */
  readonly notes: Note[] = [];
  /** The values of Secrets that the reconcile has read. */
  readonly secrets: RunSecrets = new RunSecrets();
  /** Messages about composed resources that another writer changes back. */
  readonly fights: string[] = [];
  /** The kinds of composed resources for which the caches have no space. */
  readonly uncached: Set<string> = new Set();
  /** Why the API server refuses to watch kinds of composed resources. */
  readonly unwatched: Map<string, string> = new Map();
  /** The conditions that functions set. */
  conditions: readonly Condition[] = [];
  /** Whether the reconcile has written anything except a status. */
  hasWritten = false;
  /** The time in milliseconds until a delayed write or another attempt; undefined if nothing waits. */
  slowedMs: number | undefined;
  readonly #callbacks: ShownCallbacks;

  constructor(callbacks: ShownCallbacks) {
    this.#callbacks = callbacks;
  }

  /** Logs the writes of a plan, without values of Secrets. */
  logPlan({ stages }: Plan<string>): void {
    for (const { do: verb, on, part, as, why } of stages.flatMap(({ actions }) => actions)) {
      const object = this.secrets.scrub(describeReference(on));
      this.#callbacks.logWrite({ verb, object, ...(part && { part }), as, why: this.secrets.scrub(why) });
    }
  }

  warn(message: string, reason?: string): void {
    this.#add("Warning", message, reason);
  }

  report(message: string, reason?: string): void {
    this.#add("Normal", message, reason);
  }

  /** Reconciles the XR again after this time at the latest. */
  slow(waitMs: number): void {
    this.slowedMs = Math.min(waitMs, this.slowedMs ?? waitMs);
  }

  /** Adds the first distinct results of a run, and the number of the others. */
  addResults(results: readonly StepResult[]): void {
    const distinct = [...new Map(results.map((one) => [JSON.stringify(one), one])).values()];
    for (const result of distinct.slice(0, MAX_RESULTS)) this.addResult(result);
    const left = distinct.length - MAX_RESULTS;
    if (left > 0)
      this.warn(`the run returned ${left} more results, which have no event; make the functions return fewer`);
  }

  /** Adds a result of a step, or of the pipeline. */
  addResult({ severity, message, step, target, reason }: StepResult): void {
    const text = step === undefined ? message : `Pipeline step ${JSON.stringify(step)}: ${message}`;
    const type = severity === "Normal" ? "Normal" : "Warning";
    const shown = reason !== undefined && this.secrets.isIn(reason) ? undefined : reason;
    this.#add(type, text, shown);
    if (target === "CompositeAndClaim") this.#add(type, text, shown, "claim");
  }

  /**
   * Adds the conditions of a run, and lets the claim copy them.
   *
   * @param undetermined the conditions that the run has not confirmed
   */
  addConditions(conditions: readonly StepCondition[], undetermined: readonly Condition[]): void {
    const shown = this.shownConditions(conditions);
    this.conditions = [...undetermined, ...shown];
    this.#callbacks.showOnClaim(shown.filter(({ target }) => target === "CompositeAndClaim").map(({ type }) => type));
  }

  /** The conditions that functions set, without values of Secrets: see {@link RunSecrets.scrubConditions}. */
  shownConditions<T extends Condition>(conditions: readonly T[]): T[] {
    const shown = this.secrets.scrubConditions(conditions);
    if (shown.length < conditions.length) {
      this.warn(
        "a condition that a function sets is left out: its type or reason contains a value of a Secret; " +
          "let the function set fixed words",
      );
    }
    return shown;
  }

  /** Adds an event for both objects: the owner of an adopted object may not have the right to read the XR. */
  addAdoption({ kind, metadata }: LiveObject, role: string, object: LiveObject): void {
    const title = describeReference(referenceTo(object));
    const reason = "AdoptResource";
    this.warn(`adopted ${title} as ${role}: it existed without a controller`, reason);
    const message = `adopted by ${kind} ${metadata.name}, which changes and deletes this object from now on`;
    this.#add("Warning", message, reason, object);
  }

  #add(type: Note["type"], message: string, reason = "ComposeResources", about: Note["about"] = "composite"): void {
    this.notes.push({ type, reason, message, about });
  }
}
