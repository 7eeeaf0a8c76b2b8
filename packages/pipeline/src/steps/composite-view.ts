import type { Desired, DesiredComposite, ExplicitConnectionDetail } from "@xfn/functionio";

/** The XR in desired state, as FunctionIO steps see it. */
export interface CompositeView {
  /** The XR that the next function gets; undefined if it gets none. */
  readonly given: DesiredComposite | undefined;
  /** The observed connection details that the last function returned unchanged. They stay published. */
  readonly passedOn: readonly ExplicitConnectionDetail[];
  /**
   * Takes the XR that a function returned.
   *
   * @param before the XR as earlier steps desire it
   * @returns the XR as the steps so far desire it; undefined if none desires a field of it
   */
  take(returned: Desired["composite"], before: Desired["composite"]): DesiredComposite | undefined;
}

/** The XR of `mode: Pipeline`, as the steps so far desire it. It does not change if a function omits it. */
export function plainView(given: DesiredComposite | undefined): CompositeView {
  return { given, passedOn: [], take: (returned, before) => returned ?? before };
}
