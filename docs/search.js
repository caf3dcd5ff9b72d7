// People paste the text of an error with its quotes. The theme takes them for an operator that finds nothing then.
for (const kind of ["input", "keyup", "focus"]) {
  document.addEventListener(kind, ({ target }) => {
    if (target instanceof HTMLInputElement && target.matches(".md-search__input") && target.value.includes('"')) {
      target.value = target.value.replaceAll('"', " ").trimStart();
    }
  }, true);
}
