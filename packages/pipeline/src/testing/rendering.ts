import type { ConnectionDetails, Finding } from "@xfn/composition";
import type { KubernetesObject } from "@xfn/functionio";
import { printYaml } from "@xfn/functionio/document";
import type { StepResult } from "../outcome/step-result.ts";
import { printRender } from "../render/print-render.ts";
import type { RenderResult } from "../render/render.ts";
import type { Trace } from "../trace/index.ts";
import { entryName } from "./entry-name.ts";

/** What is known about a render besides its result. */
export interface RenderingFacts {
  /** Why entries are not ready, by name. */
  reasons: ReadonlyMap<string, readonly string[]>;
  /** Warnings about the Composition itself. */
  findings: readonly Finding[];
  /** Makes the trace: few tests need it, and it takes longer than the render. */
  trace: () => Trace;
  rounds: number;
}

/**
 * What a test's render came to: everything that `render` of @xfn/pipeline gives, composed resources by name, and a form for
 * snapshots (`String(rendering)`): what `xfn render -r -x` prints, then the names of connection details and deleted entries.
 */
export class Rendering implements RenderResult {
  /** The XR: apiVersion, kind, name and the status that it would have. */
  readonly composite: KubernetesObject;
  /** The XR with everything that it was given and that is desired of it. */
  readonly fullComposite: KubernetesObject;
  /** The composed resources, sorted by entry name. Empty after a fatal result. */
  readonly resources: KubernetesObject[];
  /** The names of the entries whose resources would be deleted, sorted. */
  readonly deleted: string[];
  /** The names of the composed resources that are not ready, sorted. */
  readonly unready: string[];
  /** What functions and the pipeline had to say, in order. */
  readonly results: StepResult[];
  /** What the XR would publish. Its values are never printed. */
  readonly connectionDetails: ConnectionDetails;
  /** The result that ended the run, if one did: nothing would be applied. */
  declare readonly fatal?: StepResult;
  /** What `xfn render` warns of in the Composition: unknown fields, connection details that its definition does not know. */
  readonly findings: readonly Finding[];
  /** How many rounds it took until nothing changed; 1 unless it is of `converge`. */
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

  /** A composed resource by the name of its entry; undefined if nothing of that name is composed. */
  resource(name: string): KubernetesObject | undefined {
    return this.resources.find((resource) => entryName(resource) === name);
  }

  /** Why a composed resource is not ready, one line for each reason; empty if it is. */
  reasons(name: string): readonly string[] {
    return this.#reasons.get(name) ?? [];
  }

  /** What each step did, and who set which field (`originOf` of @xfn/pipeline/trace). Secrets are hidden in it. */
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
