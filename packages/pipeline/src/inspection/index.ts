// The calls of a run for a pipeline inspector: JSON, without secrets.
export {
  type InspectedCall,
  type InspectedResponse,
  type InspectionOptions,
  inspectedCallers,
  type RunInspector,
} from "./inspected-callers.ts";
