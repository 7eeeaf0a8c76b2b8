import type { ConnectionDetails, Finding } from "@xfn/composition";
import type { KubernetesObject } from "@xfn/json";
import { printYaml } from "@xfn/json/document";
import type { StepResult } from "../outcome/step-result.ts";
import { printRender } from "../render/print-render.ts";
import type { RenderResult } from "../render/render-types.ts";
import type { Trace } from "../trace/index.ts";
import { entryName } from "./entry-name.ts";

/** Facts about a render in addition to its result. */
export interface RenderingFacts {
  /** Why entries are not ready, by name. */
  reasons: ReadonlyMap<string, readonly string[]>;
  /** Warnings about the Composition itself. */
  findings: readonly Finding[];
  /** Builds the trace on demand: few tests need it, and it takes longer than the render. */
  trace: () => Trace;
  rounds: number;
}

/**
 * The outcome of a test's render: the result of `render` of @xfn/pipeline, composed resources by name, and a text for
 * snapshots. `String(rendering)` is the output of `xfn render -r -x`, then the names of connection details and deleted
 * entries.
 */
export class Rendering implements RenderResult {
  /** The XR: apiVersion, kind, name and the status that it would have. */
  readonly composite: KubernetesObject;
  /** The XR with its input fields and all desired fields. */
  readonly fullComposite: KubernetesObject;
  /** The composed resources, sorted by entry name. Empty after a fatal result. */
  readonly resources: KubernetesObject[];
  /** The names of the entries whose resources would be deleted, sorted. */
  readonly deleted: string[];
  /** The names of the composed resources that are not ready, sorted. */
  readonly unready: string[];
  /** The results of functions and of the pipeline, in order. */
  readonly results: StepResult[];
  /** The connection details that the XR would publish. Values are never printed. */
  readonly connectionDetails: ConnectionDetails;
  /** The names of the connection details that functions expose, with a value or not yet, sorted. */
  readonly exposedByFunctions: string[];
  /** The result that ended the run, if there is one: nothing would be applied. */
  declare readonly fatal?: StepResult;
  /**
   * The warnings of `xfn render` about the Composition: unknown fields, and connection details that its definition does
   * not have.
   */
  readonly findings: readonly Finding[];
  /** The number of rounds until nothing changed; 1 without `converge`. */
  readonly rounds: number;
  readonly #reasons: ReadonlyMap<string, readonly string[]>;
  readonly #makeTrace: () => Trace;
  #trace: Trace | undefined;

  constructor(result: RenderResult, facts: RenderingFacts) {
    this.composite = result.composite;
    this.fullComposite = result.fullComposite;
    this.resources = result.resources;
    this.deleted = result.deleted;
    this.unready = result.unready;
    this.results = result.results;
    this.exposedByFunctions = result.exposedByFunctions;
    this.connectionDetails = result.connectionDetails;
    if (result.fatal !== undefined) this.fatal = result.fatal;
    this.findings = facts.findings;
    this.rounds = facts.rounds;
    this.#reasons = facts.reasons;
    this.#makeTrace = facts.trace;
  }

  /** The names of the composed resources' entries, sorted. */
  get names(): string[] {
    return this.resources.map((resource) => entryName(resource) ?? "");
  }

  /** The composed resource of an entry; undefined if there is none. */
  resource(name: string): KubernetesObject | undefined {
    return this.resources.find((resource) => entryName(resource) === name);
  }

  /** Why a composed resource is not ready, one line for each reason; empty if it is ready. */
  reasons(name: string): readonly string[] {
    return this.#reasons.get(name) ?? [];
  }

  /** The steps, and the origin of each field (`originOf` of @xfn/pipeline/trace). Secrets are hidden. */
  get trace(): Trace {
    this.#trace ??= this.#makeTrace();
    return this.#trace;
  }

  /** YAML documents in a stable order, for snapshots. */
  toString(): string {
    const { names } = this.connectionDetails;
    const rest = {
      ...(names.length > 0 && { connectionDetails: names }),
      ...(this.deleted.length > 0 && { deleted: this.deleted }),
    };
    const yaml = printRender(this, { includeFunctionResults: true, includeFullXR: true });
    return Object.keys(rest).length === 0 ? yaml : `${yaml}---\n${printYaml(rest)}`;
  }
}
