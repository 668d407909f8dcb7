"""Pictures of what an answer does: `./exercise picture 06`.

In an exercise.json:

    "picture": {
      "program": "ddp",                 functions: which program of the project is run and shown;
                                        stage: left out, the answer itself is
      "options": ["--ranks", "3"],      of that program (a trace is always written)
      "view": "memory", "at": "2:3",    any long option of the visualizer, without its dashes; true
      "ring": true,                     for one that takes no value
      "look": "what to look for in it"  one or two sentences, printed below
    }
"""
