import { UsageError } from "../exit-code.ts";

/** Which traces are sent. */
export interface Sampling {
  /** The part of all traces, from 0 to 1, that begin in this program. */
  readonly ratio: number;
  /** Whether the caller decides on its traces. */
  readonly isParentBased: boolean;
}

/** The default of OpenTelemetry. */
export const ALL: Sampling = { ratio: 1, isParentBased: true };

const PARENT_BASED = "parentbased_";
const SAMPLERS = ["always_on", "always_off", "traceidratio"].flatMap((name) => [PARENT_BASED + name, name]);

/**
 * The sampling that `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` set (OpenTelemetry, "Environment Variable
 * Specification").
 *
 * @throws {UsageError}
 */
export function samplingOf(environment: NodeJS.ProcessEnv): Sampling {
  const sampler = environment["OTEL_TRACES_SAMPLER"] || `${PARENT_BASED}always_on`;
  if (!SAMPLERS.includes(sampler))
    throw new UsageError([`OTEL_TRACES_SAMPLER must be one of ${SAMPLERS.join(", ")}, not ${sampler}`]);
  const isParentBased = sampler.startsWith(PARENT_BASED);
  if (!sampler.endsWith("traceidratio")) return { ratio: sampler.endsWith("always_on") ? 1 : 0, isParentBased };
  const argument = environment["OTEL_TRACES_SAMPLER_ARG"] || "1";
  const ratio = Number(argument);
  if (!(ratio >= 0 && ratio <= 1))
    throw new UsageError([`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not ${argument}`]);
  return { ratio, isParentBased };
}
