import type { Desired, DesiredComposite, ExplicitConnectionDetail } from "@xfn/functionio";

/** The XR in desired state, as FunctionIO steps see it. */
export interface CompositeView {
  /** The XR that the next function gets. Undefined: none. */
  readonly given: DesiredComposite | undefined;
  /** The observed connection details that the last function returned unchanged. They stay published. */
  readonly passedOn: readonly ExplicitConnectionDetail[];
  /**
   * Takes what a function returned.
   *
   * @param before what earlier steps desire of the XR
   * @returns what the steps so far desire of the XR. Undefined if nothing
   */
  take(returned: Desired["composite"], before: Desired["composite"]): DesiredComposite | undefined;
}

/** The XR of `mode: Pipeline`: what the steps so far desire of it. A function that leaves it out keeps it. */
export function plainView(given: DesiredComposite | undefined): CompositeView {
  return { given, passedOn: [], take: (returned, before) => returned ?? before };
}
