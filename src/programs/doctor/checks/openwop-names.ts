/** Agents, tools, keys and workflows of OpenWOP that name somebody or something that is not there. */
import { isError } from "../../../base/problem.ts";
import type { Check } from "../finding.ts";

/** The check `openwop-names`. */
export const openwopNames: Check = {
  id: "openwop-names",
  asks: "do OpenWOP's packs, keys and workflows name what there is?",
  look: ({ openwop }) =>
    openwop.map((problem) => {
      const { file, key, message, hint } = problem;
      const remedy = hint ?? "correct the name, or install what it names";
      return { severity: isError(problem) ? "error" : "warning", file, key, message, remedy };
    }),
};
