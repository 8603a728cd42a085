"""Reports of a study, from the folder that ``bothworlds run`` wrote. Needs the extra ``lab``.

``study`` is the way in; it reads a ``folder``. ``numbers`` come first, then what is made of them: ``text`` is
tables for readers in several formats, ``figures`` are for papers, and there is one HTML ``page``; figures and
page share ``styles``. ``decomposition`` takes regret apart as the paper's proof does.
"""
