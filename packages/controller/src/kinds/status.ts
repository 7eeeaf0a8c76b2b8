import { choice, type Field, type Fields, integer, list, record, text, time, type ValuesOf } from "./fields.ts";

const CONDITIONS = list(
  "describe whether the object is as desired, and what it waits for.",
  {
    "type!": text("is the condition's name, such as Ready.", { minLength: 1, maxLength: 316 }),
    "status!": choice("is True, False or Unknown.", ["True", "False", "Unknown"]),
    "reason!": text("is the cause of the status in one word, for programs.", { maxLength: 1024 }),
    message: text("is the cause of the status in a sentence, for people."),
    observedGeneration: integer("is the metadata.generation that is described.", { minimum: 0 }),
    "lastTransitionTime!": time("is the time of the status's last change."),
  },
  { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] },
);

/** The status of an object: its conditions and further fields. */
export function status<F extends Fields>(fields: F): Field<ValuesOf<F>> {
  return record("is the state that the controller observed.", { conditions: CONDITIONS, ...fields });
}
