import type { LiveObject } from "@xfn/kubernetes";
import type { StepResult } from "@xfn/pipeline";
import type { Condition } from "../../objects/conditions.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import type { RunSecrets } from "./run-secrets.ts";

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

/** The events of one reconcile, in order. */
export class Notes {
  readonly all: Note[] = [];

  warn(message: string, reason?: string): void {
    this.#add("Warning", message, reason);
  }

  report(message: string, reason?: string): void {
    this.#add("Normal", message, reason);
  }

  /** Adds the first distinct results of a run, and the number of the others. */
  addResults(results: readonly StepResult[], secrets: RunSecrets): void {
    const distinct = [...new Map(results.map((one) => [JSON.stringify(one), one])).values()];
    for (const result of distinct.slice(0, MAX_RESULTS)) this.addResult(result, secrets);
    const left = distinct.length - MAX_RESULTS;
    if (left > 0)
      this.warn(`the run returned ${left} more results, which have no event; make the functions return fewer`);
  }

  /** Adds a result of a step, or of the pipeline. */
  addResult({ severity, message, step, target, reason }: StepResult, secrets: RunSecrets): void {
    const text = step === undefined ? message : `Pipeline step ${JSON.stringify(step)}: ${message}`;
    const type = severity === "Normal" ? "Normal" : "Warning";
    const shown = reason !== undefined && secrets.isIn(reason) ? undefined : reason;
    this.#add(type, text, shown);
    if (target === "CompositeAndClaim") this.#add(type, text, shown, "claim");
  }

  /** The conditions that functions set, without values of Secrets: see {@link RunSecrets.scrubConditions}. */
  shownConditions<T extends Condition>(conditions: readonly T[], secrets: RunSecrets): T[] {
    const shown = secrets.scrubConditions(conditions);
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
    this.all.push({ type, reason, message, about });
  }
}
