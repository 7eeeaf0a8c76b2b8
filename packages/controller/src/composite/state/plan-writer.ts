import type { LiveObject } from "@xfn/kubernetes";
import { isBeingDeleted } from "../../objects/owner.ts";
import { referenceTo } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import { type Execution, execute } from "../../plan/execute.ts";
import { firstFailure, type Outcome, type Result } from "../../plan/outcome.ts";
import type { Plan } from "../../plan/plan.ts";
import type { ActorName } from "./composite-actors.ts";
import type { CompositeMemory } from "./composite-memory.ts";
import type { Shown } from "./shown.ts";

/** The part of a reconcile that its writes need. */
interface Writing extends Pick<Execution<ActorName>, "actors" | "signal"> {
  readonly shown: Shown;
}

/** Executes the plans of one reconcile, and retains the server's answers until the caches show them. */
export class PlanWriter {
  readonly #port: Writing;
  readonly #memory: Pick<CompositeMemory, "applies" | "writes">;

  constructor(port: Writing, memory: Pick<CompositeMemory, "applies" | "writes">) {
    this.#port = port;
    this.#memory = memory;
  }

  async execute(plan: Plan<ActorName>): Promise<Outcome<ActorName>> {
    return await this.executeOnce(plan, (action, result) => {
      this.#remember(action, result);
      this.#port.shown.hasWritten ||= result.is === "done" && action.do !== "confirm" && action.part === undefined;
    });
  }

  /** Executes a plan, and does not retain the answers. */
  async executeOnce<As extends ActorName>(plan: Plan<As>, onResult?: Execution<As>["onResult"]): Promise<Outcome<As>> {
    const { actors, signal, shown } = this.#port;
    shown.logPlan(plan);
    return await execute(plan, { actors, signal, onResult });
  }

  /**
   * Executes a plan in which every failure ends the reconcile.
   *
   * @returns the XR after the plan
   * @throws {ApiError}
   */
  async executeOrThrow(xr: LiveObject, plan: Plan<ActorName>): Promise<LiveObject> {
    const outcome = await this.execute(plan);
    const failed = firstFailure(outcome);
    if (failed !== undefined) throw failed.error;
    return outcome.latest(referenceTo(xr)) ?? xr;
  }

  /** Records that an object no longer exists. */
  forget({ metadata }: LiveObject): void {
    this.#memory.writes.sawGone(metadata.uid);
  }

  #remember(action: Action<ActorName>, result: Result): void {
    if (result.is !== "done" && result.is !== "gone") return;
    const { applies, writes } = this.#memory;
    const object = result.is === "done" ? result.object : undefined;
    if (action.do === "delete") {
      applies.forget(action.seen.metadata.uid);
      if (object === undefined || !isBeingDeleted(object)) this.forget(action.seen);
      else writes.saw(object);
    } else if (object !== undefined) {
      writes.saw(object);
      if (action.do === "apply")
        applies.record(action.intent, object, { fieldManager: action.manager, subresource: action.part });
    }
  }
}
