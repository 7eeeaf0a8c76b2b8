import {
  ConnectionDetailError,
  extractConnectionDetails,
  isReady,
  isReadyUnobserved,
  ReadinessError,
} from "@xfn/composition/observed";
import type { DesiredResource, ObservedResource } from "@xfn/functionio";
import { Ready } from "../wire/enums.ts";

/** The results of an entry's readiness checks and connection details. */
export interface Derived {
  /** Undefined if the entry has neither checks nor a `Ready` condition. */
  readonly ready: Ready | undefined;
  /** Connection details of the composite resource. */
  readonly connectionDetails: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

/**
 * Evaluates the rules of an entry. A FunctionIO carries rules, which the pipeline evaluates after the run. Over gRPC,
 * the function must return the results.
 */
export function derive(entry: DesiredResource, observed: ObservedResource | undefined): Derived {
  const warnings: string[] = [];
  return {
    ready: readyOf(entry, observed, warnings),
    connectionDetails: detailsOf(entry, observed, warnings),
    warnings,
  };
}

function readyOf(
  { readinessChecks: checks = [] }: DesiredResource,
  observed: ObservedResource | undefined,
  warnings: string[],
): Ready | undefined {
  try {
    const ready = observed === undefined ? isReadyUnobserved(checks) : isReady(observed.resource, checks);
    if (ready) return Ready.READY_TRUE;
  } catch (error) {
    if (!(error instanceof ReadinessError)) throw error;
    warnings.push(`cannot tell whether it is ready: ${error.message}`);
  }
  // Without checks, a later step such as function-auto-ready can decide.
  return checks.length === 0 ? undefined : Ready.READY_FALSE;
}

function detailsOf(
  { connectionDetails: details = [], resource }: DesiredResource,
  observed: ObservedResource | undefined,
  warnings: string[],
): ReadonlyMap<string, string> {
  const secret = new Map(observed?.connectionDetails?.map(({ name, value }) => [name, value]));
  try {
    return extractConnectionDetails({ details, resource: observed?.resource ?? resource ?? undefined, secret });
  } catch (error) {
    if (!(error instanceof ConnectionDetailError)) throw error;
    warnings.push(`publishes no connection details of these: ${error.message}`);
    return new Map();
  }
}
